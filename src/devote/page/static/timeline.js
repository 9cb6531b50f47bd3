// The order of messages, in lanes; of options that are estimated, how the estimates came about.

import { end as endOf } from "./arms.js";
import { byId, counted, drawn, element, fill, setAll, setText, whole } from "./dom.js";

function laneRow() {
  const picture = drawn("svg", { preserveAspectRatio: "none" });
  picture.append(drawn("path", { class: "band" }), drawn("path", { class: "line" }),
    drawn("path", { class: "marks" }), drawn("path", { class: "end" }));
  return element("div", { class: "lane" }, element("span", { class: "name" }), picture);
}

// What an option's estimate was after each of some messages, up to now or to where it went out.
function course(view, k, last) {
  const { numbers, courses } = view.timeline;
  const end = view.arms[k].out_at ?? last;
  const points = numbers.map((number, i) => [number, courses[i][k]])
    .filter(([number, row]) => row !== null && number < end);
  if (view.estimates[k] !== null) points.push([end, view.estimates[k]]);
  return points;
}

function estimateLanes(view, last) {
  const height = (thousandths) => 100 - (100 * thousandths) / endOf(view.estimates);
  return view.arms.map((arm, k) => {
    const points = course(view, k, last);
    const path = (i) => points.map(([number, row]) => `${number} ${height(row[i])}`);
    const end = arm.out_at;
    return {
      name: arm.name, arm, height: 100,
      band: points.length ? `M${[...path(2), ...path(1).reverse()].join("L")}Z` : "",
      line: points.length ? `M${path(0).join("L")}` : "",
      marks: "",
      end: end === null || arm.answer ? "" : `M${end} 0V100`,
    };
  });
}

function messageLanes(view, last) {
  const { step, lanes } = view.timeline;
  const at = (number) => Math.min(number - 1 + step / 2, last);
  return lanes.map((lane) => {
    const arm = lane.arm === null ? null : view.arms[lane.arm];
    const ended = arm !== null && arm.out_at !== null;
    return {
      name: lane.name, arm, height: 10, band: "",
      line: `M0 5H${ended ? at(arm.out_at) : last}`,
      marks: lane.marks.map(([number]) => `M${at(number)} 1V9`).join(""),
      end: ended ? `M${at(arm.out_at)} 0V10` : "",
    };
  });
}

function explained(view) {
  if (view.estimates !== null) {
    return "How each estimate closed in, from the first message to the last: the line is the " +
      `estimate, the band its interval, from 0 % at the bottom to ${endOf(view.estimates) / 10} % at the ` +
      "top. It ends where the option went out.";
  }
  const marks = "Each mark is a message, in the order in which they came; ";
  return marks + (view.arms.some((arm) => arm.out_at !== null && !arm.state) ?
    "lines end where the answer was found." : "a line ends where its option went out.");
}

function spoken(view) {
  const gone = view.arms.filter((arm) => arm.out_at !== null && arm.state)
    .sort((a, b) => a.out_at - b.out_at).map((arm) => `${arm.name} at message ${arm.out_at}`);
  return `${counted(view.number, "message")} in order. ` +
    (gone.length ? `Went out: ${gone.join(", ")}.` : "No option has gone out.");
}

export function showTimeline(view) {
  const last = Math.max(view.number, 1);
  const estimated = view.estimates !== null;
  const lanes = [...(estimated ? estimateLanes(view, last) : []), ...messageLanes(view, last)];
  setText(byId("what"), `${explained(view)} The server keeps no times.`);
  fill(byId("lanes"), lanes.length, laneRow).forEach((row, k) => {
    const { name: text, arm, height, ...paths } = lanes[k];
    const [name, picture] = row.children;
    const out = arm !== null && arm.out_at !== null && !arm.answer;
    const kinds = [height > 10 && "tall", arm === null && "other", out && "out",
      arm !== null && arm.answer && "won"];
    setAll(row, { class: ["lane", ...kinds.filter(Boolean)].join(" ") });
    setText(name, text);
    setAll(picture, { viewBox: `0 0 ${last} ${height}` });
    for (const path of picture.children) setAll(path, { d: paths[path.getAttribute("class")] });
  });
  setAll(byId("timeline"), { "aria-label": spoken(view) });
  setText(byId("first"), view.number ? "message 1" : "");
  setText(byId("last"), view.number ? `message ${whole(view.number)}` : "nothing yet");
}
