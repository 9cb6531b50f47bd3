// Looks at views and draws them, again and again. A server-sent stream says when to look again;
// where it breaks, for example because the server restarts, it is opened anew. Looking now and
// then without an event finds what no stream tells: devices that join, and streams that hang.

import { byId, setAll, setText } from "./dom.js";
import { showExperiment } from "./experiment.js";
import { showList } from "./list.js";
import { prepareForms } from "./operate.js";

const LOOK_AT_MOST_EVERY = 250;
const LOOK_AT_LEAST_EVERY = 5000;
const LIST_EVERY = 2000;
const RETRY_FIRST = 500;
const RETRY_MOST = 8000;
const ANSWER_WITHIN = 10000;

const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });
let visit = null;

class Backoff {
  constructor() { this.reset(); }
  reset() { this.pause = RETRY_FIRST; }
  next() {
    const now = this.pause * (0.5 + Math.random());
    this.pause = Math.min(2 * this.pause, RETRY_MOST);
    return now;
  }
}

// What is on show until one goes elsewhere or puts the page away.
class Visit {
  constructor(name) {
    this.name = name;
    this.number = null;
    this.over = false;
    this.stream = null;
    this.opensAt = 0;
    this.afterBreak = new Backoff();
    this.wake = () => {};
  }

  leave() {
    this.over = true;
    this.close();
    this.wake();
  }

  close() {
    if (this.stream !== null) this.stream.close();
    this.stream = null;
  }

  listen() {
    if (this.stream !== null || performance.now() < this.opensAt) return;
    const name = encodeURIComponent(this.name);
    this.stream = new EventSource(`views/${name}/stream`);
    this.stream.addEventListener("number", (event) => {
      this.afterBreak.reset();
      if (Number(event.data) !== this.number) this.wake();
    });
    this.stream.onerror = () => {
      this.close();
      this.opensAt = performance.now() + this.afterBreak.next();
      this.wake();
    };
  }

  // Resolves when something was posted, the stream broke, or it is time to look anyway.
  async news(woken) {
    const wait = this.stream === null ? this.opensAt - performance.now() : LOOK_AT_LEAST_EVERY;
    await Promise.race([woken, sleep(wait)]);
    await sleep(LOOK_AT_MOST_EVERY);
  }
}

function chosen() {
  const text = location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showLink(state, text) {
  setAll(byId("link"), { class: `link ${state}` });
  setText(byId("link"), text);
}

function show(section, problem = "") {
  byId("list").hidden = section !== "list";
  byId("experiment").hidden = section !== "experiment";
  byId("error").hidden = section !== "error";
  byId("open").hidden = section !== "open";
  byId("link").hidden = section === "open";
  setText(byId("problem"), problem);
}

async function fetchJson(path) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), ANSWER_WITHIN);
  try {
    const answer = await fetch(path, { cache: "no-cache", signal: stop.signal });
    const body = await answer.json();
    if (answer.ok) return body;
    throw Object.assign(new Error(body.error), { status: answer.status });
  } finally {
    clearTimeout(timer);
  }
}

// Draws what there is now and returns the number of its last message.
async function look(at) {
  const path = at.name === "" ? "views" : `views/${encodeURIComponent(at.name)}`;
  let view;
  try {
    view = await fetchJson(path);
  } catch (problem) {
    if (![404, 409, 422].includes(problem.status)) throw problem;
    const unreadable = problem.status === 409;
    if (!at.over) {
      show("error", unreadable ? problem.message : `There is no experiment “${at.name}” on this server.`);
    }
    return null;
  }
  if (at.over) return null;
  if (at.name === "") showList(view);
  else showExperiment(view);
  show(at.name === "" ? "list" : "experiment");
  return at.name === "" ? null : view.number;
}

async function follow(at) {
  const afterFailure = new Backoff();
  while (!at.over) {
    const woken = new Promise((done) => { at.wake = done; });
    try {
      const number = await look(at);
      if (at.over) return;
      afterFailure.reset();
      showLink("live", "live");
      if (number === null) {
        await Promise.race([woken, sleep(LIST_EVERY)]);
      } else {
        at.number = number;
        at.listen();
        await at.news(woken);
      }
    } catch (problem) {
      if (at.over) return;
      showLink("lost", problem.status ? "server busy, trying again" : "server away, trying again");
      await sleep(afterFailure.next());
    }
  }
}

function arrive() {
  if (visit !== null) visit.leave();
  visit = null;
  if (chosen() === "/open") {
    document.title = "Open an experiment · devote";
    show("open");
    return;
  }
  if (document.hidden) return;
  visit = new Visit(chosen());
  follow(visit);
}

addEventListener("hashchange", () => {
  arrive();
  scrollTo(0, 0);
  byId("main").focus({ preventScroll: true });
});
document.addEventListener("visibilitychange", arrive);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();  // the address names the experiment, not a place on the page
  byId("main").focus();
});
prepareForms(() => visit?.wake());
arrive();
