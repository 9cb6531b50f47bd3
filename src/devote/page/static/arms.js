// The options: what is counted of each against what decides, or its estimate with its interval.

import { byId, capital, counted, element, fill, setAll, setText, whole } from "./dom.js";

// Options that pay a few per cent need a scale that ends there.
const ENDS = [10, 20, 50, 100, 200, 500, 1000];
const ROOM = 1.25;  // the line at what decides is drawn where a fifth of the track is left

export function armRow() {
  return element("li", {},
    element("span", { class: "name" }),
    element("span", { class: "track", "aria-hidden": "true" },
      element("span", { class: "fill" }), element("span", { class: "mark" })),
    element("span", { class: "count" }, element("b"), element("small")),
    element("span", { class: "state" }, element("span"), element("small")));
}

const bound = (text) => text.replaceAll(" %", "\u00a0%");
const AGAINST = "Points are the difference to the current option, and where it truly lies.";

export const rule = (view) => bound(view.notes.slice(0, 1).join(" ") + (view.baseline && view.estimates !== null ? ` ${AGAINST}` : ""));
export const moreNotes = (view) => bound(view.notes.slice(1).join(" "));

// Where the scale of estimates ends, in thousandths as they are.
export function end(estimates) {
  const highest = Math.max(...estimates.map((row) => (row === null ? 1000 : row[2])));
  return ENDS.find((value) => value >= highest);
}

const round = (thousandths, full) => thousandths / 10 > 0 && full <= 100 ?
  (thousandths / 10).toFixed(1) : String(Math.round(thousandths / 10));

// Where an estimate stands on a track, in hundredths of it: from, to, and the mark.
export function placesOf(estimate, full) {
  if (estimate === null) return [0, 0, null];
  const [mean, low, high] = estimate;
  return [(100 * low) / full, (100 * high) / full, (100 * mean) / full];
}

// An estimate in words: its mean and its interval.
export function textsOf(estimate, full) {
  if (estimate === null) return ["–", ""];
  const [mean, low, high] = estimate.map((value) => round(value, full));
  return [`${mean} %`, `${low} to ${high} %`];
}

function places(view, k, full) {
  if (view.estimates !== null) return placesOf(view.estimates[k], full);
  const { count } = view.arms[k];
  if (count === null || !full) return [0, 0, null];
  return [0, (100 * count) / full, view.needed ? (100 * view.needed) / full : null];
}

function texts(view, k, full) {
  const { count } = view.arms[k];
  if (view.estimates === null) {
    if (count === null) return ["", ""];
    const of = view.needed === null || count > view.needed ? "" : ` of ${whole(view.needed)}`;
    return ["", whole(count) + of];
  }
  const [mean, interval] = textsOf(view.estimates[k], full);
  const answers = counted(count, view.heading.replace(/s$/, ""));
  return [mean, interval ? `${interval}, ${answers}` : answers];
}

function kind(arm) {
  if (arm.answer) return "winner";
  if (arm.out_at !== null) return arm.state ? "out" : "lost";
  return arm.leads ? "in leads" : "in";
}

export function drawArm(row, arm, [from, to, at], [value, more]) {
  const [name, track, count, state] = row.children;
  const [bar, mark] = track.children;
  setAll(row, { class: arm.kind });
  setText(name, arm.name);
  setText(count.firstElementChild, value);
  setText(count.lastElementChild, more);
  setText(state.firstElementChild, arm.state);
  setText(state.lastElementChild, arm.difference ?? "");
  bar.style.left = `${from}%`;
  bar.style.width = `${to - from}%`;
  mark.hidden = at === null;
  mark.style.left = `${at ?? 0}%`;
}

function showScale(view, full) {
  const labels = view.estimates !== null ?
    [0, 50, 100].map((place) => [place, `${(full * place) / 1000} %`]) :
    view.needed ? [[(100 * view.needed) / full, `${whole(view.needed)} decide`]] : [];
  const scale = byId("scale");
  scale.hidden = labels.length === 0;
  fill(scale.firstElementChild, labels.length, () => element("span")).forEach((node, k) => {
    node.style.left = `${labels[k][0]}%`;
    setText(node, labels[k][1]);
  });
}

export function showArms(view) {
  const most = Math.max(0, ...view.arms.map((arm) => arm.count ?? 0));
  const full = view.estimates !== null ? end(view.estimates) : Math.max(most, ROOM * (view.needed ?? 0));
  const what = view.estimates !== null ? "how often it is liked" : view.heading;
  setText(byId("counted"), what ? `${capital(what)}, by option` : "Options");
  setText(byId("rule"), view.segments.length > 0 ? "" : rule(view));
  setAll(byId("arms"), { class: view.estimates === null ? "arms" : "arms estimated" });
  fill(byId("arms"), view.arms.length, armRow).forEach((row, k) => {
    const arm = view.arms[k];
    const state = arm.leads ? "in the lead" : arm.state;
    drawArm(row, { ...arm, kind: kind(arm), state }, places(view, k, full), texts(view, k, full));
  });
  showScale(view, full);
}
