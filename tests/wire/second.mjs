// A second implementation of the wire, written from docs/wire.md alone.
//   node second.mjs vectors FOLDER [--wrong-encoding]    run the test vectors
//   node second.mjs take-part URL DEVICES                enrol, speak, read, verify and count
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { deepStrictEqual as same } from "node:assert";

const GRID = 2 ** 53;
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();

// canonical encoding and fingerprints
const bits = x => { const b = Buffer.alloc(8); b.writeDoubleBE(x + 0); return "#" + b.toString("hex"); };
const spelt = v => typeof v === "number" ? bits(v) : typeof v === "string" ? `${Buffer.byteLength(v)}:${v}`
  : Array.isArray(v) ? `[${v.map(spelt).join("")}]` : v === null || typeof v === "boolean" ? `${v}`
  : `{${Object.keys(v).sort().map(k => spelt(k) + spelt(v[k])).join("")}}`;
const canonical = process.argv.includes("--wrong-encoding") ? JSON.stringify : spelt;
const fingerprint = spec => sha256(canonical(spec)).toString("hex");

// keys and signatures
const SMALL = ["00".repeat(32), "01" + "00".repeat(31), "ec" + "ff".repeat(30) + "7f",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"];
const isKey = voter => {
  if (!/^[0-9a-f]{64}$/.test(voter)) return false;
  const y = Buffer.from(voter, "hex"); y[31] &= 0x7f;
  return BigInt("0x" + Buffer.from(y).reverse().toString("hex")) < 2n ** 255n - 19n && !SMALL.includes(y.toString("hex"));
};
const pair = secret => {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), secret]);
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  return { key, voter: Buffer.from(createPublicKey(key).export({ format: "jwk" }).x, "base64url").toString("hex") };
};
const line = ({ v, type, ...fields }, x) =>
  ["devote/2", type, x.board, x.fingerprint, ...Object.keys(fields).sort().map(k => fields[k])].join(" ");
const signed = (key, m, x) => sign(null, Buffer.from(line(m, x)), key).toString("hex");
const isSigned = (m, signature, x) => isSignedBy(m.voter, m, signature, x);
const isSignedBy = (signer, m, signature, x) => {
  if (!isKey(signer) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(signer, "hex").toString("base64url") };
  return verify(null, Buffer.from(line(m, x)), createPublicKey({ key: jwk, format: "jwk" }), Buffer.from(signature, "hex"));
};
const head = (log, x) => log.reduce((before, e) => sha256(before, line(e.message, x), " ", e.signature),
  sha256(line({ type: "log" }, x))).toString("hex");

// noise
const truths = (e, K) => GRID - Math.ceil(GRID / (Math.exp(e) * (1 - 2 ** -51) + K - 1)) * (K - 1);
const blur = (k, u, T, K) => {
  const p = Math.floor(u * GRID), j = Math.floor((p - T) / ((GRID - T) / (K - 1)));
  return p < T ? k : j < k ? j : j + 1;
};
const bit = (x, u, T) => Math.floor(u * GRID) < GRID - T + Math.floor(x * (T - (GRID - T))) ? 1 : 0;

// tallies: each takes a message, or says that it refuses it
const DEFAULTS = { decentralized: { quorum: "paper" }, jury: { seats: 29, liars: 0, privacy: null }, survey: { privacy: 1, answers: 1 } };
const TALLIES = {
  decentralized(spec, { quorum }, K, players) {
    const ratio = Math.log(spec.delta) / Math.log(spec.eta), whole = Math.round(ratio);
    const near = Math.abs(ratio - whole) <= 1e-12 * Math.max(1, ratio);
    const M = typeof quorum === "number" ? quorum : near ? whole : quorum === "paper" ? Math.floor(ratio) : Math.ceil(ratio);
    const votes = []; let term = 0;
    return {
      kinds: ["vote", "reset"],
      take(m) {
        if (m.term > term + 1 || (m.term > 0 && spec.algorithm !== "ser4")) return false;
        term = Math.max(term, m.term);
        if (m.type === "vote") votes.push(m);
        return true;
      },
      public() {
        const now = votes.filter(m => m.term === term), arms = [...Array(K).keys()];
        const n = arms.map(k => now.filter(m => m.arm === k).length);
        let shared = arms.filter(k => n[k] < M);
        if (!shared.length) shared = [n.indexOf(Math.min(...n))];
        const voters = [...new Set(now.map(m => m.voter))];
        const silent = voters.filter(v => shared.filter(k => now.some(m => m.voter === v && m.arm === k)).length + 1 >= shared.length);
        const status = shared.length === 1 ? "agreed" : players && silent.length >= players ? "stalled" : "open";
        return { status, answer: [...shared].sort((a, b) => n[a] - n[b] || a - b), shared };
      },
    };
  },
  jury(spec, { seats, liars, privacy }, K) {
    const t = privacy === null ? 1 : truths(privacy, K) / GRID, q = (1 - t) / (K - 1);
    const r = privacy === null ? spec.eta : Math.min(1, q + (t - q) * (spec.eta + 1 / K));
    const n = seats - liars; let tail = 0, c = n + 1;
    for (let term = r ** n; c > 0 && (tail + term) * (privacy === null ? 1 : K - 1) <= spec.delta;) { // P(Bin >= c - 1)
      tail += term; c -= 1; term *= (c / (n - c + 1)) * ((1 - r) / r);
    }
    const needed = liars + c, picks = new Map(), counts = Array(K).fill(0); let verdict = null;
    return {
      kinds: ["claim", "pick"],
      take(m) {
        if (m.type === "claim") return picks.size < seats && !!picks.set(m.voter, null);
        if (!picks.has(m.voter) || picks.get(m.voter) !== null) return false;
        picks.set(m.voter, m.arm);
        if (++counts[m.arm] >= needed) verdict ??= m.arm;
        return true;
      },
      public() {
        const arms = [...Array(K).keys()], stalled = verdict === null && counts.reduce((a, b) => a + b) === seats;
        const answer = arms.filter(k => counts[k] || !stalled).sort((a, b) => counts[b] - counts[a] || a - b);
        if (verdict !== null) return { status: "agreed", answer: [verdict], shared: [verdict] };
        return { status: stalled ? "stalled" : "open", answer, shared: arms };
      },
    };
  },
  survey(spec, { privacy, answers }, K) {
    const T = privacy === null ? GRID : truths(privacy / answers, 2), rho = spec.options.rho ?? 5;
    const epsilon = Math.max(0, spec.epsilon * (2 * T - GRID) / GRID - 4 / GRID);
    const queues = Array.from({ length: K }, () => []), sums = Array(K).fill(0), given = new Set();
    let shared = [...queues.keys()], n = 0;
    return {
      kinds: ["answer"],
      take(m) {
        if (given.has(`${m.voter} ${m.number}`) || m.number > answers || shared.length === 1 || !shared.includes(m.arm)) return false;
        given.add(`${m.voter} ${m.number}`);
        queues[m.arm].push(m.bit);
        while (shared.length > 1 && shared.every(k => queues[k].length > n)) {
          for (const k of shared) sums[k] += queues[k][n];
          n += 1;
          const best = shared.reduce((a, b) => sums[b] > sums[a] ? b : a);
          const reach = Math.sqrt((n + rho) * (Math.log(1 + n / rho) / 2 + Math.log((K - 1) / spec.delta)));
          const lead = k => sums[best] - sums[k];
          shared = shared.every(k => k === best || lead(k) + n * epsilon >= reach) ? [best] : shared.filter(k => k === best || lead(k) < reach);
        }
        return true;
      },
      public() {
        const share = k => queues[k].length ? queues[k].reduce((a, b) => a + b) / queues[k].length : -0.5;
        const answer = [...shared].sort((a, b) => share(b) - share(a) || a - b);
        return { status: shared.length === 1 ? "agreed" : "open", answer, shared, counts: queues.map(a => a.length) };
      },
    };
  },
};
const tally = (given, players = null) => {
  const scheme = { ...DEFAULTS[given.scheme.name], ...given.scheme };
  const spec = { algorithm: "ser3", epsilon: 0.25, delta: 0.05, eta: scheme.name === "jury" ? 0.2 : 0.9, ...given };
  const counted = TALLIES[scheme.name](spec, scheme, spec.arms.length, players), there = new Set();
  const take = m => !there.has(line(m, {})) && counted.kinds.includes(m.type) && m.experiment === spec.name
    && counted.take(m) && !!there.add(line(m, {}));
  return { take, public: counted.public };
};

const CHECKS = {
  canonical: ({ value, bytes, sha256: hash }) => {
    same(Buffer.from(canonical(value)).toString("hex"), bytes);
    same(sha256(canonical(value)).toString("hex"), hash);
  },
  fingerprints: ({ spec, fingerprint: print }) => same(fingerprint(spec), print),
  keys: ({ secret, voter, good }) => { same(isKey(voter), good); if (secret) same(pair(Buffer.from(secret, "hex")).voter, voter); },
  messages: ({ secret, message, board, fingerprint, line: text, signature }) => {
    const x = { board, fingerprint };
    same([line(message, x), signed(pair(Buffer.from(secret, "hex")).key, message, x)], [text, signature]);
    same(isSigned(message, signature, x), true);
  },
  moved: ({ message, board, fingerprint, signature }) => same(isSigned(message, signature, { board, fingerprint }), false),
  truths: ({ privacy, arms, truths: T }) => same(Math.abs(truths(privacy, arms) - T) <= 64, true),
  picks: ({ truth, noise, truths: T, arms, told }) => same(blur(truth, noise, T, arms), told),
  bits: ({ reward, noise, truths: T, told }) => same(bit(reward, noise, T), told),
  tallies: ({ spec, board, players, log, taken, tallies, head: last }) => {
    const x = { board, fingerprint: fingerprint(spec) }, counted = tally(spec, players);
    log.forEach((e, i) => {
      same([isSigned(e.message, e.signature, x), counted.take(e.message)], [true, taken[i]]);
      same(counted.public(), tallies[i]);
    });
    same(head(log.filter((_, i) => taken[i]), x), last);
  },
};

Object.assign(CHECKS, {
  certificates: ({ secret, signer, spec, board, type, fields, line: text, signature }) => {
    const x = { board, fingerprint: fingerprint(spec) };
    same(sha256(`devote/2 gossip ${x.fingerprint}`).toString("hex").slice(0, 32), board);
    same([line({ type, ...fields }, x), signed(pair(Buffer.from(secret, "hex")).key, { type, ...fields }, x)], [text, signature]);
    same([isSignedBy(signer, { type, ...fields }, signature, x), isSignedBy(signer, { type, ...fields }, signature, { ...x, board: "0".repeat(32) })], [true, false]);
  },
  sets: ({ lines, ids, root, count, digests }) => {
    const found = lines.map(text => sha256(text).subarray(0, 16)), buckets = Array.from({ length: count }, () => []);
    same(Buffer.concat(found).toString("hex"), ids);
    found.sort(Buffer.compare);
    same(sha256(...found).toString("hex").slice(0, 32), root);
    found.forEach(id => buckets[Math.floor(id.readUInt16BE() * count / 65536)].push(id));
    same(Buffer.concat(buckets.map(held => held.length ? sha256(...held).subarray(0, 8) : Buffer.alloc(8))).toString("hex"), digests);
  },
});

const vectors = folder => {
  let run = 0, wrong = 0;
  for (const [name, check] of Object.entries(CHECKS))
    for (const vector of JSON.parse(readFileSync(`${folder}/${name}.json`)))
      try { run += 1; check(vector); } catch (error) { wrong += 1; console.log(`${name}: ${error.message.split("\n").slice(0, 12).join(" ")}`); }
  console.log(`${run} vectors, ${wrong} wrong`);
  return wrong === 0;
};

const ask = async (url, body) => {
  const options = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(url, options);
  if (answer.headers.get("Devote-Version") !== "2") throw new Error(`${url} does not speak version 2`);
  return { status: answer.status, ...await answer.json(), tag: answer.headers.get("ETag") };
};
const takePart = async (url, devices) => {
  const x = await ask(url), K = x.spec.arms.length;
  same(fingerprint(x.spec), x.fingerprint);
  const noise = () => Number(randomBytes(8).readBigUInt64BE() >> 11n) / GRID, T = truths(x.spec.scheme.privacy ?? 1, 2);
  const say = {
    decentralized: d => [{ type: "vote", arm: 1 + d % (K - 1), term: 0 }],
    jury: d => [{ type: "claim" }, { type: "pick", arm: d % 3 ? 0 : 1 }],
    survey: d => [{ type: "answer", arm: d % K, bit: bit(d % K === 0 ? 1 : 0, noise(), T), number: 1 }],
  };
  for (let d = 0; d < devices; d++) {
    const { key, voter } = pair(randomBytes(32));
    const enrolment = { voter, signature: signed(key, { type: "enrolment", voter }, x) };
    same([(await ask(`${url}/enrolments`, enrolment)).status, (await ask(`${url}/enrolments`, enrolment)).status], [201, 200]);
    for (const said of say[x.spec.scheme.name](d)) {
      const message = { v: 2, experiment: x.spec.name, voter, ...said };
      const elsewhere = signed(key, message, { ...x, board: "0".repeat(32) });
      same((await ask(`${url}/messages`, { message, signature: elsewhere })).outcome, "refused");
      const envelope = { message, signature: signed(key, message, x) };
      same([(await ask(`${url}/messages`, envelope)).outcome, (await ask(`${url}/messages`, envelope)).outcome], ["accepted", "duplicate"]);
    }
  }
  const { voters } = await ask(`${url}/enrolments`), { messages, number } = await ask(`${url}/messages`);
  const { status, tag, ...told } = await ask(`${url}/tally`), counted = tally(x.spec, x.players);
  messages.forEach((e, i) => {
    same([e.number, isSigned(e.message, e.signature, x)], [i + 1, true]);
    same([voters.includes(e.message.voter), counted.take(e.message)], [true, true]);
  });
  same(told, { board: x.board, fingerprint: x.fingerprint, number, tally: counted.public() });
  same(tag, `"${sha256(canonical(told)).toString("hex").slice(0, 32)}"`);
  console.log(JSON.stringify({ number, head: head(messages, x), tally: told.tally }));
};

const [, , command, where, count] = process.argv;
if (command === "vectors") process.exitCode = vectors(where) ? 0 : 1;
else await takePart(where, Number(count));
