// One experiment: everything is drawn from a view, nothing is decided here.

import { byId, counted, drawn, element, fill, listed, setAll, setText } from "./dom.js";

const OTHER_LANES = { seat: "jury seats", reset: "new terms" };

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
    const [fewest, next] = view.answer.map((name) => view.arms.find((arm) => arm.name === name));
    return `Stalled: the devices could not agree between ${listed(view.answer)}, and none has a ` +
      "vote left to cast" +
      (fewest.votes < next.votes ? `; ${fewest.name} has the fewest against it. ` : ". ") +
      `Either these options are within ${view.epsilon} of each other, or different devices have ` +
      "different favourites, or chance misled some devices.";
  }
  const waiting = view.jury !== null && view.jury.seated < view.jury.size
    ? ` Votes count once the jury is complete: ${view.jury.seated} of ${view.jury.size} seats ` +
      "are taken." : "";
  return `Open: ${view.answer.length} of ${view.options} options are left.${lastOut(view)}${waiting}`;
}

function showFacts(view) {
  const of = view.players === null ? "" : ` of ${view.players}`;
  const facts = [
    ["Devices", `${view.seats}${of}`],
    ["Voters so far", view.voters],
    ["Messages", view.number],
    ["Protocol", `${view.protocol}, ${view.algorithm}`],
    ["Good enough", `within ${view.epsilon} of the best`],
  ];
  if (view.term > 0) facts.push(["Term", view.term]);
  const make = () => element("div", {}, element("dt"), element("dd"));
  fill(byId("facts"), facts.length, make).forEach((node, k) => {
    setText(node.firstElementChild, facts[k][0]);
    setText(node.lastElementChild, facts[k][1]);
  });
}

// --- votes against the quorum -------------------------------------------------------------

function armRow() {
  return element("li", {},
    element("span", { class: "name" }),
    element("span", { class: "track", "aria-hidden": "true" }, element("span", { class: "fill" })),
    element("span", { class: "votes" }),
    element("span", { class: "state" }));
}

function showArms(view) {
  setText(byId("rule"), view.jury === null
    ? `An option goes out when ${view.quorum} devices have voted against it.`
    : `An option goes out when ${view.quorum} of ${view.jury.size} jurors have voted against it.`);
  const left = new Set(view.answer);
  fill(byId("arms"), view.arms.length, armRow).forEach((row, k) => {
    const arm = view.arms[k];
    const [name, track, votes, state] = row.children;
    const out = !left.has(arm.name);
    const won = view.status === "agreed" && !out;
    setAll(row, { class: out ? "out" : won ? "winner" : "in" });
    setText(name, arm.name);
    setText(votes, `${arm.votes} of ${view.quorum}`);
    setText(state, won ? "the answer" : out ? `out at ${arm.out_at}` : "still in");
    track.firstElementChild.style.width = `${Math.min(100, (100 * arm.votes) / view.quorum)}%`;
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
    setAll(row, { class: `lane ${lane.kind}${ended ? " out" : ""}` });
    setText(name, arm === null ? OTHER_LANES[lane.kind] : arm.name);
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
  fill(byId("bounds"), view.bounds.length, make).forEach((node, k) => {
    const bound = view.bounds[k];
    const [value, name] = node.firstElementChild.children;
    setAll(node, { class: bound.name });
    setText(value, percent(bound.value));
    setText(name, bound.name);
    setText(node.lastElementChild, bound.text);
  });
}

function meaning({ about, sent: { message } }) {
  if (message.type === "vote") return `A vote against ${about}`;
  if (message.type === "seat") return `A claim to seat ${message.seat} of the jury`;
  return `A reset, which opens term ${message.term}`;
}

function showDevice(view) {
  const device = view.device;
  const letters = device === null ? [] : device.letters;
  const hidden = device === null ? 0 : device.count - letters.length;
  setText(byId("sent"), device === null ? "No device has sent anything yet." :
    `This device has sent ${counted(device.count, "message")}` +
    (hidden ? `, of which the last ${letters.length} are shown.` : ".") +
    ` The most that any has sent is ${device.most}.`);
  const make = () => element("li", {}, element("span"), element("code"));
  fill(byId("letters"), letters.length, make).forEach((node, k) => {
    setText(node.firstElementChild, meaning(letters[k]));
    setText(node.lastElementChild, JSON.stringify(letters[k].sent));
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
