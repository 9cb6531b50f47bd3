// One experiment: everything is drawn from a view, nothing is decided here.

import { showArms } from "./arms.js";
import { byId, capital, counted, element, fill, listed, setAll, setText, whole } from "./dom.js";
import { showSegments, verdict as segmentsVerdict } from "./segments.js";
import { showTimeline } from "./timeline.js";

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
  if (view.segments.length > 0) return segmentsVerdict(view);
  if (view.status === "agreed") return `The answer: ${view.answer[0]}`;
  if (view.status === "stalled") {
    const [first, next] = view.answer.map((name) => view.arms.find((arm) => arm.name === name));
    return `Stalled: the devices could not agree between ${listed(view.answer)}, and none has ` +
      "anything left to say" +
      (next !== undefined && first.count !== next.count ? `; ${first.name} leads. ` : ". ") +
      `Either these options are within ${view.epsilon} of each other, or different devices have ` +
      "different favourites, or chance misled some devices.";
  }
  const left = `Open: ${view.open} of ${view.options} options are left.`;
  if (view.leader === null) return left + lastOut(view);
  const lead = `In the lead: ${view.leader}.`;
  return view.open === view.options ? `Open. ${lead}` : `${left} ${lead}${lastOut(view)}`;
}

function showFacts(view) {
  const of = view.players === null ? "" : ` of ${whole(view.players)}`;
  const facts = [
    ...((view.standing ?? "open") === "open" ? [] : [["Experiment", view.standing]]),
    ["Devices", `${whole(view.enrolled)}${of}`],
    ["Messages", whole(view.number)],
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

const STANDINGS = { proved: "Privacy, proved", measured: "Privacy, measured",
  claimed: "Privacy, claimed but not proved", refuted: "Not private" };
const TELLS = "A message does tell something: what this device thinks of an option, and about when.";

function showDevice(view) {
  const device = view.device;
  const messages = device === null ? [] : device.messages;
  const hidden = device === null ? 0 : device.count - messages.length;
  setText(byId("sent"), device === null ? "No device has sent anything yet." :
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
  setText(byId("verdict"), verdict(view));
  setAll(byId("verdict"), { class: `verdict ${view.status}` });
  showProgress(view);
  showFacts(view);
  showSegments(view);
  showArms(view);
  showTimeline(view);
  showBounds(view);
  showDevice(view);
}
