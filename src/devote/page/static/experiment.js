// One experiment: everything is drawn from a view, nothing is decided here.

import { moreNotes, showArms } from "./arms.js";
import { byId, capital, counted, element, fill, headline, setAll, setText, whole } from "./dom.js";
import { showOperate } from "./operate.js";
import { showSegments } from "./segments.js";
import { showTimeline } from "./timeline.js";

function percent(value) {
  if (value > 0 && value < 0.001) return "under 0.1 %";
  if (value < 1 && value > 0.999) return "over 99.9 %";
  return `${Number((100 * value).toPrecision(2))} %`;
}

// --- what to do, and what is known ---------------------------------------------------------

function showFactsIn(id, facts) {
  const make = () => element("div", {}, element("dt"), element("dd"));
  fill(byId(id), facts.length, make).forEach((node, k) => {
    setText(node.firstElementChild, facts[k][0]);
    setText(node.lastElementChild, facts[k][1]);
  });
}

function showFacts(view) {
  const of = view.players === null ? "" : ` of ${whole(view.players)}`;
  showFactsIn("facts", [
    ["Experiment", view.standing],
    ["Devices", `${whole(view.enrolled)}${of}`],
    ["Messages", whole(view.number)],
    ...(view.now.rate === null ? [] : [["Messages a day", whole(Math.round(view.now.rate))]]),
    ...(view.baseline ? [["Current option", view.baseline]] : []),
    ["Differences that matter", `above ${Number((100 * view.epsilon).toPrecision(3))} points`],
  ]);
  showFactsIn("technical", [
    ["Scheme", `${view.scheme}, ${view.algorithm}`],
    ...view.facts.map(([label, text]) => [capital(label), text]),
  ]);
}

function showWarnings(view) {
  const warnings = [...view.warnings, ...(view.now.warning === null ? [] : [view.now.warning])];
  fill(byId("warnings"), warnings.length, () => element("li")).forEach((node, k) => {
    setText(node, warnings[k]);
  });
}

function showDays(view) {
  byId("daily").hidden = view.now.days.length === 0;
  const make = () => element("tr", {}, element("td"), element("td"), element("td"));
  fill(byId("days"), view.now.days.length, make).forEach((row, k) => {
    view.now.days[k].forEach((value, i) => { setText(row.children[i], i ? whole(value) : value); });
  });
}

function showLinks(view) {
  const address = `experiments/${encodeURIComponent(view.name)}`;
  setAll(byId("address"), { href: address });
  setAll(byId("tally"), { href: `${address}/tally` });
  setAll(byId("log"), { href: `${address}/messages` });
}

// --- how far it is ------------------------------------------------------------------------

function showProgress(view) {
  const make = () => element("div", {}, element("dt"),
    element("dd", {},
      element("span", { class: "track", "aria-hidden": "true" }, element("span", { class: "fill" })),
      element("span")));
  byId("progress").hidden = view.progress.length === 0;
  fill(byId("progress"), view.progress.length, make).forEach((node, k) => {
    const [label, done, of, words] = view.progress[k];
    const [track, text] = node.lastElementChild.children;
    setText(node.firstElementChild, capital(label));
    track.firstElementChild.style.width = `${of ? Math.min(100, (100 * done) / of) : 0}%`;
    setText(text, words);
  });
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

const STANDINGS = { proved: "Privacy, proved", measured: "Privacy, measured",
  claimed: "Privacy, claimed but not proved", refuted: "Not private" };
const TELLS = "A message does tell something: what this device thinks of an option, and about when.";

function showDevice(view) {
  const device = view.device;
  const messages = device === null ? [] : device.messages;
  const hidden = device === null ? 0 : device.count - messages.length;
  setText(byId("sent"), view.log === "operator" ? "The operator shows the log to nobody else." :
    device === null ? "No device has sent anything yet." :
    `This device has sent ${counted(device.count, "message")}` +
    (hidden ? `, of which the last ${messages.length} are shown.` : ".") +
    (device.most === null ? "" : ` The most that any has sent is ${device.most}.`));
  setText(byId("private"), view.privacy === null ? TELLS :
    `${STANDINGS[view.privacy.standing]}: ${view.privacy.words}`);
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
  setText(byId("verdict"), headline(view));
  setAll(byId("verdict"), { class: `verdict ${view.now.open ? view.advice.kind : view.advice.kind.replace("keep", "none")}` });
  setText(byId("meaning"), view.meaning);
  showWarnings(view);
  showProgress(view);
  showFacts(view);
  showSegments(view);
  showArms(view);
  showTimeline(view);
  showBounds(view);
  showDevice(view);
  showDays(view);
  showLinks(view);
  setText(byId("notes"), moreNotes(view));
  showOperate(view);
}
