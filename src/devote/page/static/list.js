// The list of experiments.

import { byId, counted, element, fill, listed, setAll, setText, whole } from "./dom.js";

const STATES = { open: "open", agreed: "answered", stalled: "stalled" };

function card() {
  return element("li", {}, element("a", {},
    element("strong"), element("span", { class: "state" }), element("span")));
}

function outcome(item) {
  if (item.decided !== null) return `${item.decided[0]} of ${counted(item.decided[1], "segment")} decided`;
  if (item.status === "agreed") return item.answer[0];
  if (item.status === "stalled") return `no agreement between ${listed(item.answer)}`;
  return `${item.open} of ${counted(item.options, "option")} left`;
}

export function showList(items) {
  document.title = "devote";
  byId("none").hidden = items.length > 0;
  fill(byId("cards"), items.length, card).forEach((node, k) => {
    const item = items[k];
    const link = node.firstElementChild;
    const [name, state, facts] = link.children;
    setAll(link, { href: `#${encodeURIComponent(item.name)}` });
    setAll(state, { class: `state ${item.status}` });
    setText(name, item.name);
    setText(state, `${STATES[item.status]}: ${outcome(item)}`);
    const of = item.players === null ? "" : ` of ${whole(item.players)}`;
    setText(facts, `${whole(item.enrolled)}${of} devices, ${counted(item.number, "message")}`);
  });
}
