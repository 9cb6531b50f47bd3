"use strict";

// The page reads views from the server and draws them. A server-sent stream tells when to look
// again; when it breaks, for example because the server restarts, it is opened anew.

const RETRY_FIRST = 500;
const RETRY_MOST = 8000;
const LOOK_AT_MOST_EVERY = 250;
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);
let stream = null;
let retry = RETRY_FIRST;
let timer = null;
let looking = false;
let again = false;

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function drawn(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

function percent(value) {
  if (value > 0 && value < 0.001) return "under 0.1 %";
  if (value < 1 && value > 0.999) return "over 99.9 %";
  return `${Number((100 * value).toPrecision(2))} %`;
}

function chosen() {
  return decodeURIComponent(location.hash.slice(1));
}

function say(state, text) {
  const link = byId("link");
  link.className = `link ${state}`;
  link.textContent = text;
}

function fail(text) {
  const box = byId("error");
  box.hidden = text === "";
  box.textContent = text;
}

async function fetchJson(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (!answer.ok) {
    const body = await answer.json().catch(() => ({}));
    const problem = new Error(body.error || `The server answered ${answer.status}.`);
    problem.status = answer.status;
    throw problem;
  }
  return answer.json();
}

// --- the list -----------------------------------------------------------------------------

function showList(experiments) {
  document.title = "devote";
  byId("none").hidden = experiments.length > 0;
  byId("cards").replaceChildren(
    ...experiments.map((item) => {
      const { name, arms } = item.spec;
      const of = item.players === null ? "" : ` of ${item.players}`;
      return element("li", {}, element("a", { href: `#${encodeURIComponent(name)}` },
        element("strong", {}, name),
        element("span", {}, `${arms.length} options, ${item.seats}${of} devices`)));
    }),
  );
}

// --- one experiment -----------------------------------------------------------------------

function verdict(view) {
  const names = view.answer.map((arm) => view.arms[arm].name);
  if (view.status === "agreed") return `The answer: ${names[0]}.`;
  if (view.status === "stalled") return `Stalled: ${names.join(", ")} are indistinguishable.`;
  const waiting = view.jury && view.jury.seated < view.jury.size
    ? ` The jury has ${view.jury.seated} of ${view.jury.size} seats taken.` : "";
  return `Open: ${view.answer.length} of ${view.arms.length} options are left.${waiting}`;
}

function showFacts(view) {
  const of = view.players === null ? "" : ` of ${view.players}`;
  const facts = [
    ["devices", `${view.seats}${of}`],
    ["voters so far", view.voters],
    ["messages", view.number],
    ["protocol", `${view.protocol}, ${view.algorithm}`],
    ["epsilon, eta, delta", `${view.epsilon}, ${view.eta}, ${view.delta}`],
  ];
  if (view.term > 0) facts.push(["term", view.term]);
  byId("facts").replaceChildren(
    ...facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, String(value)))),
  );
}

function bar(arm, quorum) {
  const full = Math.max(quorum, arm.votes);
  const picture = drawn("svg", { role: "img", "aria-label": `${arm.votes} of ${quorum} votes` });
  picture.append(
    drawn("rect", { class: "track", width: "100%", height: "100%", rx: 4 }),
    drawn("rect", { class: "fill", width: `${(100 * arm.votes) / full}%`, height: "100%", rx: 4 }),
  );
  return element("div", { class: "bar" }, picture,
    element("span", {}, `${arm.votes} of ${quorum}`));
}

function showArms(view) {
  byId("rule").textContent = view.jury
    ? `An option goes out when ${view.quorum} of ${view.jury.size} jurors vote against it.`
    : `An option goes out when ${view.quorum} devices vote against it.`;
  byId("arms").replaceChildren(
    ...view.arms.map((arm, k) => {
      const out = !view.answer.includes(k);
      const won = view.status === "agreed" && !out;
      return element("tr", { class: out ? "out" : won ? "winner" : "in" },
        element("th", { scope: "row" }, arm.name),
        element("td", {}, bar(arm, view.quorum)),
        element("td", {}, won ? "the answer" : out ? "out" : "still in"));
    }),
  );
}

function showTimeline(view) {
  const left = 150;
  const right = 780;
  const lane = 22;
  const first = view.timeline.length ? view.timeline[0].number : 1;
  const last = Math.max(view.number, first + 1);
  const at = (number) => left + ((right - left) * (number - first)) / (last - first);
  const height = lane * view.arms.length + 26;
  const votes = view.timeline.filter((event) => event.arm !== null).length;
  const picture = drawn("svg", {
    viewBox: `0 0 800 ${height}`, role: "img",
    "aria-label": `${votes} votes in order; options that went out: ` +
      (view.arms.filter((arm) => arm.out_at !== null).map((arm) => arm.name).join(", ") || "none"),
  });
  view.arms.forEach((arm, k) => {
    const y = lane * k + 14;
    const name = arm.name.length > 21 ? `${arm.name.slice(0, 20)}…` : arm.name;
    const end = arm.out_at === null ? right : at(arm.out_at);
    picture.append(
      drawn("text", { x: left - 10, y: y + 4, "text-anchor": "end" }, name),
      drawn("line", { class: "lane", x1: left, x2: Math.max(left, end), y1: y, y2: y }),
    );
    for (const event of view.timeline) {
      if (event.arm !== k) continue;
      const x = at(event.number);
      picture.append(drawn("line", { class: "vote", x1: x, x2: x, y1: y - 6, y2: y + 6 }));
    }
    if (arm.out_at !== null) {
      picture.append(drawn("line", { class: "end", x1: end, x2: end, y1: y - 8, y2: y + 8 }));
    }
  });
  const y = height - 4;
  picture.append(drawn("text", { x: left, y }, `message ${first}`));
  picture.append(drawn("text", { x: right, y, "text-anchor": "end" }, `message ${last}`));
  byId("timeline").replaceChildren(picture);
}

function showBounds(view) {
  byId("bounds").replaceChildren(
    ...view.bounds.map((bound) =>
      element("div", {},
        element("dt", {}, percent(bound.value), element("small", {}, `wrong, ${bound.name}`)),
        element("dd", {}, bound.text))),
  );
}

function showDevice(view) {
  byId("device").textContent = view.device === null
    ? "No device has sent anything yet."
    : view.device.sent.map((sent) => JSON.stringify(sent)).join("\n");
}

function showExperiment(view) {
  document.title = `${view.name} · devote`;
  byId("name").textContent = view.name;
  const box = byId("verdict");
  const text = verdict(view);
  if (box.textContent !== text) box.textContent = text;
  box.className = `verdict ${view.status}`;
  showFacts(view);
  showArms(view);
  showTimeline(view);
  showBounds(view);
  showDevice(view);
}

// --- looking, and being told when to ------------------------------------------------------

async function look() {
  if (looking) {
    again = true;
    return;
  }
  looking = true;
  const name = chosen();
  byId("list").hidden = name !== "";
  byId("experiment").hidden = name === "";
  try {
    if (name === "") showList((await fetchJson("/experiments")).experiments);
    else showExperiment(await fetchJson(`/views/${encodeURIComponent(name)}`));
    fail("");
    say("live", "live");
  } catch (problem) {
    if (problem.status === 404) {
      byId("experiment").hidden = true;
      fail(problem.message);
    }
    if (problem.status === undefined) say("lost", "server away, trying again");
  }
  setTimeout(() => {
    looking = false;
    if (again) {
      again = false;
      look();
    }
  }, LOOK_AT_MOST_EVERY);
}

function listen() {
  clearTimeout(timer);
  if (stream) stream.close();
  stream = null;
  const name = chosen();
  if (name === "") {
    timer = setTimeout(() => look().then(listen), 3000);
    return;
  }
  stream = new EventSource(`/experiments/${encodeURIComponent(name)}/stream`);
  stream.addEventListener("message", look);
  stream.addEventListener("end", () => {
    retry = RETRY_FIRST;
    look();
  });
  stream.onerror = () => {
    stream.close();
    say("lost", "server away, trying again");
    timer = setTimeout(listen, retry * (0.5 + Math.random()));
    retry = Math.min(2 * retry, RETRY_MOST);
  };
}

function arrive() {
  retry = RETRY_FIRST;
  fail("");
  look();
  listen();
}

addEventListener("hashchange", arrive);
byId("home").addEventListener("click", () => { location.hash = ""; });
arrive();
