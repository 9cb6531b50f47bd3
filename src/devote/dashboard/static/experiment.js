// One experiment: everything is drawn from a view, nothing is decided here.

import { byId, capital, counted, drawn, element, fill, listed, setAll, setText } from "./dom.js";

function percent(value) {
  if (value > 0 && value < 0.001) return "under 0.1 %";
  if (value < 1 && value > 0.999) return "over 99.9 %";
  return `${Number((100 * value).toPrecision(2))} %`;
}

// --- the answer ---------------------------------------------------------------------------

function lastOut(view) {
  const out = view.arms.filter((arm) => arm.out_at !== null);
  const last = out.reduce((a, b) => (b.out_at > a.out_at ? b : a), { out_at: 0 });
  return last.name === undefined ? "" : ` Last to go: ${last.name}.`;
}

function verdict(view) {
  if (view.status === "agreed") return `The answer: ${view.answer[0]}`;
  if (view.status === "stalled") {
    const [first, next] = view.answer.map((name) => view.arms.find((arm) => arm.name === name));
    return `Stalled: the devices could not agree between ${listed(view.answer)}, and none has ` +
      "anything left to say" +
      (next !== undefined && first.count !== next.count ? `; ${first.name} leads. ` : ". ") +
      `Either these options are within ${view.epsilon} of each other, or different devices have ` +
      "different favourites, or chance misled some devices.";
  }
  return `Open: ${view.open} of ${view.options} options are left.${lastOut(view)}`;
}

function showFacts(view) {
  const of = view.players === null ? "" : ` of ${view.players}`;
  const facts = [
    ["Devices", `${view.enrolled}${of}`],
    ["Messages", view.number],
    ...view.facts.map(([label, text]) => [capital(label), text]),
    ["Scheme", `${view.scheme}, ${view.algorithm}`],
    ["Good enough", `within ${view.epsilon} of the best`],
  ];
  const make = () => element("div", {}, element("dt"), element("dd"));
  fill(byId("facts"), facts.length, make).forEach((node, k) => {
    setText(node.firstElementChild, facts[k][0]);
    setText(node.lastElementChild, facts[k][1]);
  });
}

// --- what is counted, against what decides ------------------------------------------------

function armRow() {
  return element("li", {},
    element("span", { class: "name" }),
    element("span", { class: "track", "aria-hidden": "true" }, element("span", { class: "fill" })),
    element("span", { class: "count" }),
    element("span", { class: "state" }));
}

function showArms(view) {
  setText(byId("counted"), view.heading ? `${capital(view.heading)}, by option` : "Options");
  setText(byId("rule"), view.needed === null ? "" :
    `An option is decided by ${view.needed} ${view.heading}.`);
  fill(byId("arms"), view.arms.length, armRow).forEach((row, k) => {
    const arm = view.arms[k];
    const [name, track, count, state] = row.children;
    const out = arm.out_at !== null;
    const share = arm.count === null || !view.needed ? 0 : Math.min(1, arm.count / view.needed);
    setAll(row, { class: arm.answer ? "winner" : out ? "out" : "in" });
    setText(name, arm.name);
    setText(count, arm.count === null ? "" :
      view.needed === null ? arm.count : `${arm.count} of ${view.needed}`);
    setText(state, arm.answer ? "the answer" : out ? `out at ${arm.out_at}` : "still in");
    track.firstElementChild.style.width = `${100 * share}%`;
  });
}

// --- the timeline -------------------------------------------------------------------------

function laneRow() {
  const picture = drawn("svg", { preserveAspectRatio: "none" });
  picture.append(drawn("path", { class: "line" }), drawn("path", { class: "marks" }),
    drawn("path", { class: "end" }));
  return element("div", { class: "lane" }, element("span", { class: "name" }), picture);
}

function showTimeline(view) {
  const { step, lanes } = view.timeline;
  const last = Math.max(view.number, 1);
  const at = (number) => Math.min(number - 1 + step / 2, last);
  fill(byId("lanes"), lanes.length, laneRow).forEach((row, k) => {
    const lane = lanes[k];
    const arm = lane.arm === null ? null : view.arms[lane.arm];
    const ended = arm !== null && arm.out_at !== null;
    const [name, picture] = row.children;
    const [line, marks, end] = picture.children;
    setAll(row, { class: `lane${arm === null ? " other" : ""}${ended ? " out" : ""}` });
    setText(name, lane.name);
    setAll(picture, { viewBox: `0 0 ${last} 10` });
    setAll(line, { d: `M0 5H${ended ? at(arm.out_at) : last}` });
    setAll(marks, { d: lane.marks.map(([number]) => `M${at(number)} 1V9`).join("") });
    setAll(end, { d: ended ? `M${at(arm.out_at)} 0V10` : "" });
  });
  const gone = view.arms.filter((arm) => arm.out_at !== null)
    .sort((a, b) => a.out_at - b.out_at).map((arm) => `${arm.name} at message ${arm.out_at}`);
  setAll(byId("timeline"), {
    "aria-label": `${counted(view.number, "message")} in order. ` +
      (gone.length ? `Went out: ${gone.join(", ")}.` : "No option has gone out."),
  });
  setText(byId("first"), view.number ? "message 1" : "");
  setText(byId("last"), view.number ? `message ${view.number}` : "nothing yet");
}

// --- how sure, and what leaves a device ---------------------------------------------------

function showBounds(view) {
  const make = () => element("div", {}, element("dt", {}, element("b"), element("small")),
    element("dd"));
  byId("sure").hidden = view.bounds.length === 0;
  fill(byId("bounds"), view.bounds.length, make).forEach((node, k) => {
    const bound = view.bounds[k];
    const [value, name] = node.firstElementChild.children;
    setAll(node, { class: bound.name });
    setText(value, percent(bound.value));
    setText(name, bound.name);
    setText(node.lastElementChild, bound.text);
  });
}

function showDevice(view) {
  const device = view.device;
  const messages = device === null ? [] : device.messages;
  const hidden = device === null ? 0 : device.count - messages.length;
  setText(byId("sent"), device === null ? "No device has sent anything yet." :
    `This device has sent ${counted(device.count, "message")}` +
    (hidden ? `, of which the last ${messages.length} are shown.` : ".") +
    ` The most that any has sent is ${device.most}.`);
  const make = () => element("li", {}, element("span"), element("code"));
  fill(byId("messages"), messages.length, make).forEach((node, k) => {
    const { kind, about, sent } = messages[k];
    setText(node.firstElementChild, about === null ? capital(kind) : `${capital(kind)}: ${about}`);
    setText(node.lastElementChild, JSON.stringify(sent));
  });
}

export function showExperiment(view) {
  document.title = `${view.name} · devote`;
  setText(byId("name"), view.name);
  setText(byId("verdict"), verdict(view));
  setAll(byId("verdict"), { class: `verdict ${view.status}` });
  showFacts(view);
  showArms(view);
  showTimeline(view);
  showBounds(view);
  showDevice(view);
}
