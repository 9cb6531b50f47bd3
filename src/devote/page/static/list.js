// The list of experiments.

import { byId, counted, element, fill, headline, setAll, setText, whole } from "./dom.js";

function card() {
  return element("li", {}, element("a", {},
    element("strong"), element("span", { class: "state" }), element("span")));
}

export function showList(items) {
  document.title = "devote";
  byId("none").hidden = items.length > 0;
  fill(byId("cards"), items.length, card).forEach((node, k) => {
    const item = items[k];
    const link = node.firstElementChild;
    const [name, state, facts] = link.children;
    setAll(link, { href: `#${encodeURIComponent(item.name)}` });
    setAll(state, { class: `state ${item.advice.kind}` });
    setText(name, item.name);
    setText(state, headline(item));
    const of = item.players === null ? "" : ` of ${whole(item.players)}`;
    setText(facts, `${whole(item.enrolled)}${of} devices, ${counted(item.number, "message")}`);
  });
}
