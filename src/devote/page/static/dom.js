// Small helpers to build and update the document in place.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function drawn(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  setAll(node, attributes);
  return node;
}

export function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
}

// Control characters, also those that turn the direction of writing, are shown by their numbers.
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const escaped = (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`;
export const printable = (text) => String(text).replace(CONTROLS, escaped);

// Text that has not changed is left alone, so that nothing is read out twice.
export function setText(node, text) {
  const shown = printable(text);
  if (node.textContent !== shown) node.textContent = shown;
}

// Exactly `count` children, made or removed at the end; those that stay keep focus and motion.
export function fill(parent, count, make) {
  while (parent.children.length > count) parent.lastElementChild.remove();
  while (parent.children.length < count) parent.append(make());
  return [...parent.children];
}

export function listed(names, most = 5) {
  if (names.length > most) return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

export function counted(count, one, many = `${one}s`) {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

export const whole = (count) => count.toLocaleString("en");

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// What to do, in one line; the time left does not follow from the log.
export function headline({ advice, so_far: soFar, now }) {
  if (advice.kind !== "keep") return advice.text;
  if (!now.open) return `No answer: it was closed after ${soFar}`;
  return advice.text + (now.left === null ? "" : `, ${now.left} left`);
}
