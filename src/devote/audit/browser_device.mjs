// The browser client that ships, run through plans, in Node: see browser_device.py.
//   node browser_device.mjs CLIENT < what.json
// The client is not changed. What a browser gives it is here: two clocks and timers that jump to
// what comes next, a store, locks, and a server that loses acknowledgements. Random numbers are the
// client's own, of crypto.getRandomValues, or for each plan always the one of `uniforms`. Math.random,
// which anybody may guess, is always a half.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const EPOCH = 1_700_000_000_000;
const { joined, world, plans, uniforms } = JSON.parse(readFileSync(0, "utf8"));
const experiments = joined.map(({ spec }) => spec.name);
const [, , file] = process.argv;
/** Of a request these differ from device to device; its numbers are in `copies`. */
const NAMES = ["voter", "signature", "experiment"];
const clone = (value) => structuredClone(value);
const soon = (work) => Promise.resolve().then(work);

let now, timers, working, requests, forms, copies, records, posted, losses, drawn;

// Clocks and timers, in milliseconds since the page was opened.
const turn = setImmediate;
let lastTimer = 0;
Date.now = () => EPOCH + Math.round(now);
performance.now = () => now;
globalThis.setTimeout = (work, wait = 0) => {
  timers.set(++lastTimer, { at: now + Math.max(0, wait), work });
  return lastTimer;
};
globalThis.clearTimeout = (number) => void timers.delete(number);
globalThis.BroadcastChannel = undefined;
AbortSignal.timeout = () => undefined;
const nextTimer = () => [...timers].reduce((a, b) => (b[1].at < a[1].at ? b : a), [0, { at: Infinity }]);

// Chance: keys are made and used outside of this thread, so what they do is waited for.
Math.random = () => 0.5;
for (const name of ["generateKey", "exportKey", "importKey", "sign", "verify", "digest"]) {
  const plain = crypto.subtle[name].bind(crypto.subtle);
  crypto.subtle[name] = async (...words) => {
    working += 1;
    return plain(...words).finally(() => (working -= 1));
  };
}
let planNumber = -1;
if (uniforms !== null) {
  crypto.getRandomValues = (words) => {
    const place = BigInt(uniforms[planNumber] * 2 ** 53);
    if (!(words instanceof Uint32Array) || words.length !== 2) throw new Error("not a number of 53 bits");
    [words[0], words[1]] = [Number(place >> 26n) << 5 >>> 0, Number(place & (2n ** 26n - 1n)) << 6 >>> 0];
    return words;
  };
}
const settled = async () => {
  for (let quiet = 0; quiet < 2; quiet += 1) {
    await new Promise((resolve) => turn(resolve));
    if (working > 0) quiet = -1;
  }
};

// A store of one database: each transaction sees what is stored, and changes it when it is complete.
const transaction = () => {
  const changes = new Map();
  let open = 0, isAborted = false;
  const its = { oncomplete: null, onabort: null, error: null };
  const request = (result) => {
    const asked = { onsuccess: null };
    open += 1;
    soon(() => {
      asked.onsuccess?.({ target: { result } });
      open -= 1;
      if (open === 0) soon(finish);
    });
    return asked;
  };
  const finish = () => {
    if (open > 0 || its.isOver) return;
    its.isOver = true;
    if (isAborted) return its.onabort?.();
    for (const [key, value] of changes) records.set(key, value);
    its.oncomplete?.();
  };
  its.abort = () => { isAborted = true; };
  its.objectStore = () => ({
    get: (key) => request(records.has(key) ? clone(records.get(key)) : undefined),
    getAll: () => request([...records.values()].map(clone)),
    put: (value) => { changes.set(value.url, clone(value)); return request(undefined); },
  });
  return its;
};
globalThis.indexedDB = {
  open: () => {
    const asked = { result: { transaction, close: () => undefined, createObjectStore: () => undefined } };
    soon(() => { asked.onupgradeneeded?.(); asked.onsuccess?.(); });
    return asked;
  },
};

// One lock for each name.
const held = new Map();
const locks = {
  request: async (name, ...rest) => {
    const [work, options] = [rest.at(-1), rest.length > 1 ? rest[0] : {}];
    if (held.has(name) && options.ifAvailable) return work(null);
    while (held.has(name)) await held.get(name);
    const done = Promise.resolve(work({ name }));
    held.set(name, done.catch(() => undefined).finally(() => held.delete(name)));
    return done;
  },
};
Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });

// The server.
globalThis.fetch = async (address, options = {}) => {
  const url = new URL(address), [, , name, path] = url.pathname.split("/");
  const which = experiments.indexOf(name), prefix = experiments.length > 1 ? `${which} ` : "";
  const body = options.body ? JSON.parse(options.body) : null;
  const { message } = body ?? {};
  requests.push(now / 1000);
  const asked = [options.method, path, [...url.searchParams], Object.keys(options.headers ?? {}), body];
  forms.add(JSON.stringify(asked, (key, x) => (NAMES.includes(key) || typeof x === "number" ? undefined : x)).replace(/[0-9a-f]{64}/g, "KEY"));
  if (message) {
    const numbers = Object.entries(message).filter(([key, x]) => key !== "v" && typeof x === "number").map(([, x]) => x);
    copies.push([now / 1000, prefix + message.type, numbers]);
  }
  const own = posted[which];
  const isThere = message && own.some((envelope) => envelope.signature === body.signature);
  if (message && !isThere) own.push(body);
  if (message && losses.shift()) throw new TypeError("The answer is lost.");
  const there = joined[which], tally = { ...there.tally, number: own.length };
  const answer = path === "join" ? { ...there, messages: own, tally, outcome: "accepted" }
    : path === "tally" ? tally : message ? { outcome: isThere ? "duplicate" : "accepted" } : { messages: own, number: own.length, end: true };
  return new Response(JSON.stringify(answer), { headers: { "Devote-Version": `${there.version}` } });
};

const client = await import(pathToFileURL(file).href);

/** A page with a device for each experiment, after a visit or a reload. */
const openPage = async () => {
  timers = new Map();
  const devices = experiments.map((name) => client.join(`http://127.0.0.1:9/experiments/${name}`, { fallback: "-", within: 1e9 }));
  await settled();
  return devices.map((device) => ({ device, shown: null, questions: 0 }));
};

const clickAfter = (arm, window, question, experiment) => {
  const asked = [[world.arms, arm], [world.questions, question], [world.experiments, experiment]];
  return asked.some(([those, one]) => those !== null && !those.includes(one)) ? Infinity : Math.max(1, world.after * window);
};

const open = async (page, window, agenda) => {
  for (const [n, it] of page.entries()) {
    const before = it.device.status().replyIn;
    const choosing = it.device.choose(...(world.segment === null ? [] : [{ segment: world.segment_name }]));
    await settled();
    const choice = await choosing;
    if (choice.play !== null && choice.play === it.shown?.play) continue;
    it.shown = choice;
    const { replyIn } = it.device.status();
    if (before === null && replyIn !== null) {
      it.questions += 1;
      drawn.push(now / 1000 + replyIn);
    }
    if (choice.play === null) continue;
    const wait = 1000 * clickAfter(choice.arm, window, it.questions, n);
    if (wait < Infinity) agenda.push({ at: now + wait, what: "click", n, play: choice.play });
  }
};

const watch = async (plan) => {
  planNumber += 1;
  [now, timers, working, losses] = [0, new Map(), 0, [...plan.lost]];
  [requests, forms, copies, drawn] = [[], new Set(), [], []];
  [records, posted] = [new Map(), experiments.map(() => [])];
  held.clear();
  let page = await openPage();
  const agenda = plan.opens.map((at) => ({ at: 1000 * at, what: "open" }));
  if (plan.restart !== null) agenda.push({ at: 1000 * plan.restart, what: "restart" });
  for (;;) {
    const isIdle = page.every(({ device }, n) => device.status().replyIn === null && device.status().sent === posted[n].length);
    agenda.sort((a, b) => a.at - b.at);
    const [number, timer] = nextTimer();
    if (agenda.length === 0 && (isIdle || timer.at > 1000 * plan.end)) break;
    if (agenda.length === 0 || timer.at <= agenda[0].at) {
      timers.delete(number);
      now = timer.at;
      timer.work();
    } else {
      const { at, what, n, play } = agenda.shift();
      now = at;
      if (what === "open") await open(page, plan.window, agenda);
      else if (what === "restart") {
        const before = page;
        page = await openPage();
        page.forEach((it, n) => Object.assign(it, { shown: before[n].shown, questions: before[n].questions }));
      } else if (page[n].shown?.play === play) await Promise.all([page[n].device.reward(1, page[n].shown), settled()]);
    }
    await settled();
  }
  return { opens: plan.opens, drawn, requests, forms: [...forms].sort(), copies };
};

for (const plan of plans) console.log(JSON.stringify(await watch(plan)));
process.exit(0);
