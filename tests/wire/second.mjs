// A second implementation of the wire, written from docs/wire.md alone.
//   node second.mjs vectors FOLDER [--wrong-encoding]    run the test vectors
//   node second.mjs take-part URL DEVICES                enrol, speak, read, verify and count
import { createHash, createPrivateKey, createPublicKey, randomBytes, sign, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { deepStrictEqual as same } from "node:assert";
import { complete, GRID, noiseOf, tally, truths } from "./tallies.mjs";

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
const isSigned = (m, signature, x) => m.type === "withdrawal"
  ? m.voter === "operator" && sha256(line(m, x)).toString("hex") === signature : isSignedBy(m.voter, m, signature, x);
const isSignedBy = (signer, m, signature, x) => {
  if (!isKey(signer) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(signer, "hex").toString("base64url") };
  return verify(null, Buffer.from(line(m, x)), createPublicKey({ key: jwk, format: "jwk" }), Buffer.from(signature, "hex"));
};
const head = (log, x) => log.reduce((before, e) => sha256(before, line(e.message, x), " ", e.signature),
  sha256(line({ type: "log" }, x))).toString("hex");

// noise
const blur = (k, u, T, K) => {
  const p = Math.floor(u * GRID), j = Math.floor((p - T) / ((GRID - T) / (K - 1)));
  return p < T ? k : j < k ? j : j + 1;
};
const bit = (x, u, T) => Math.floor(u * GRID) < GRID - T + Math.floor(x * (T - (GRID - T))) ? 1 : 0;
// An answer with segments, from the uniform numbers that it takes.
const subset = (S, d, { own, other, segment, reward, uniforms }) => {
  const words = uniforms.values(), bits = n => Math.floor(words.next().value * 2 ** n);
  const absent = GRID - own - other, p = bits(53) - absent, others = [], signs = Array(S).fill(0);
  while (absent && others.length < Math.min(d, S - 1)) {
    const z = bits(Math.ceil(Math.log2(S)));
    if (z < S && z !== segment && !others.includes(z)) others.push(z);
  }
  const drawn = others.map(() => bits(1) ? 1 : 2);
  if (p >= 0) signs[segment] = p < other + Math.floor(reward * (own - other)) ? 1 : 2;
  others.slice(0, p >= 0 ? d - 1 : d).forEach((z, i) => { signs[z] = drawn[i]; });
  const number = digits => digits.reduceRight((x, digit) => 3 * x + digit, 0);
  return [number(signs.slice(0, 32)), number(signs.slice(32))];
};

const CHECKS = {
  canonical: ({ value, bytes, sha256: hash }) => {
    same(Buffer.from(canonical(value)).toString("hex"), bytes);
    same(sha256(canonical(value)).toString("hex"), hash);
  },
  fingerprints: ({ spec, fingerprint: print }) => same(fingerprint(spec), print),
  specifications: ({ written, spec, fingerprint: print }) => same([complete(written), fingerprint(complete(written))], [spec, print]),
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
  subsets: ({ segments, subset: d, privacy, own, other, absent }) => {
    const found = noiseOf(segments, d, privacy);
    for (const [ours, right] of [[found.own, own], [found.other, other], [found.absent, absent]]) same(Math.abs(ours - right) <= 64 * segments, true);
  },
  signed_subsets: ({ segments, subset: d, low, high, ...given }) => same(subset(segments, d, given), [low, high]),
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
  snapshots: ({ secret, signer, board, fingerprint, tally, fields, signature, header }) => {
    const x = { board, fingerprint }, said = { type: "snapshot", ...fields };
    same(sha256(canonical(tally)).toString("hex"), fields.tally);
    same([signed(pair(Buffer.from(secret, "hex")).key, said, x), isSignedBy(signer, said, signature, x)], [signature, true]);
    same([fields.number, fields.at, fields.head, fields.tally, signature].join(" "), header);
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
  const noise = () => Number(randomBytes(8).readBigUInt64BE() >> 11n) / GRID, T = x.spec.scheme.name === "survey" ? truths(x.spec.scheme.privacy, 2) : GRID;
  const say = {
    decentralized: d => [{ type: "vote", arm: 1 + d % (K - 1), term: 0 }],
    jury: d => [{ type: "claim" }, { type: "pick", arm: d % 3 ? 0 : 1 }],
    survey: (d, { asked, snapshot }) => asked.slice(d % asked.length).slice(0, 1).map(arm => (
      { type: "answer", arm, bit: bit(arm === 0 ? 1 : 0, noise(), T), number: 1, seen: snapshot })),
  };
  for (let d = 0; d < devices; d++) {
    const { key, voter } = pair(randomBytes(32));
    const enrolment = { voter, signature: signed(key, { type: "enrolment", voter }, x) };
    same([(await ask(`${url}/enrolments`, enrolment)).status, (await ask(`${url}/enrolments`, enrolment)).status], [201, 200]);
    const { tally: told } = await ask(`${url}/tally`);
    for (const said of say[x.spec.scheme.name](d, told)) {
      const message = { v: 2, experiment: x.spec.name, voter, ...said };
      const elsewhere = signed(key, message, { ...x, board: "0".repeat(32) });
      same((await ask(`${url}/messages`, { message, signature: elsewhere })).outcome, "refused");
      const envelope = { message, signature: signed(key, message, x) };
      same([(await ask(`${url}/messages`, envelope)).outcome, (await ask(`${url}/messages`, envelope)).outcome], ["accepted", "duplicate"]);
    }
  }
  const { voters } = await ask(`${url}/enrolments`), messages = [];
  for (let number = 1, full = true; full; number += 1) {
    const page = await ask(`${url}/log/${x.board}/${number}`);
    same([page.board, page.fingerprint, page.page], [x.board, x.fingerprint, number]);
    same(page.tag, `W/"${sha256(page.messages.map(e => e.signature).join("")).toString("hex").slice(0, 32)}"`);
    messages.push(...page.messages);
    full = page.full;
  }
  const { status, tag, ...told } = await ask(`${url}/tally`), counted = tally(x.spec, x.players), number = messages.length;
  messages.forEach((e, i) => {
    same([e.number, isSigned(e.message, e.signature, x)], [i + 1, true]);
    same([voters.includes(e.message.voter), counted.take(e.message)], [true, true]);
  });
  const { pace, streams, ...rest } = told;
  same([pace > 0, typeof streams], [true, "boolean"]);
  same(rest, { board: x.board, fingerprint: x.fingerprint, number, tally: counted.public() });
  same(tag, `W/"${sha256(canonical(told)).toString("hex").slice(0, 32)}"`);
  console.log(JSON.stringify({ number, head: head(messages, x), tally: told.tally }));
};

const [, , command, where, count] = process.argv;
if (command === "vectors") process.exitCode = vectors(where) ? 0 : 1;
else await takePart(where, Number(count));
