// The kinds of users, each with its answer or what leads there, how far it is, and its estimates.

import { armRow, drawArm, end, placesOf, rule, textsOf } from "./arms.js";
import { byId, capital, element, fill, setAll, setText } from "./dom.js";

const OPEN_AT_MOST = 4;  // with more segments, estimates are shown when asked for

function row() {
  return element("li", {},
    element("div", { class: "head" }, element("h3"), element("small"), element("span", { class: "state" })),
    element("div", { class: "far" },
      element("span", { class: "track", "aria-hidden": "true" }, element("span", { class: "fill" })),
      element("span")),
    element("details", {}, element("summary"), element("ul", { class: "arms estimated", role: "list" })));
}

function standing(segment, names) {
  if (segment.answer !== null) return `settled: ${names[segment.answer]}`;
  return segment.leader === null ? "undecided" : `undecided: ${names[segment.leader]} leads, no promise`;
}

function share(segment) {
  if (segment.share === null) return "";
  return `about ${Number((100 * segment.share).toPrecision(2))} % of users`;
}

function showEstimates(list, segment, names, full) {
  fill(list, names.length, armRow).forEach((node, k) => {
    const isAnswer = segment.answer === k, leads = !isAnswer && segment.leader === k;
    const estimate = segment.estimates[k];
    drawArm(node, {
      name: names[k], kind: isAnswer ? "winner" : leads ? "in leads" : "in",
      state: isAnswer ? "the answer" : leads ? "in the lead" : "",
    }, placesOf(estimate, full), textsOf(estimate, full));
  });
}

export function showSegments(view) {
  const { segments } = view;
  byId("kinds").hidden = segments.length === 0;
  setText(byId("kindsrule"), rule(view));
  const names = view.arms.map((arm) => arm.name);
  const full = end(segments.flatMap((segment) => segment.estimates));
  const list = byId("segments"), isNew = list.children.length !== segments.length;
  fill(list, segments.length, row).forEach((node, z) => {
    const segment = segments[z];
    const [head, far, more] = node.children;
    const [name, users, state] = head.children;
    const [track, text] = far.children;
    const [, done, of, words] = segment.progress;
    setAll(node, { class: segment.status });
    setText(name, segment.name);
    setText(users, share(segment));
    setText(state, capital(standing(segment, names)));
    track.firstElementChild.style.width =
      `${segment.answer !== null ? 100 : of ? Math.min(100, (100 * done) / of) : 0}%`;
    setText(text, words);
    if (isNew) more.open = segments.length <= OPEN_AT_MOST;
    setText(more.firstElementChild, `Estimates, from 0 to ${full / 10} %`);
    showEstimates(more.lastElementChild, segment, names, full);
  });
}
