// The wire's test vectors, run on the built client, in Node and in a browser alike.
//   node vectors.mjs [CLIENT] [FOLDER]
// What the client has no use for is here: keys of others, picks of a jury, and how boards count.
import { complete, GRID, tally } from "../../../tests/wire/tallies.mjs";

const SMALL = ["00".repeat(32), "01" + "00".repeat(31), "ec" + "ff".repeat(30) + "7f",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"];
const text = new TextEncoder();
const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const joined = (...parts) => unhex(parts.map(hex).join(""));
const sha256 = async (data) => new Uint8Array(await crypto.subtle.digest("SHA-256", data));
const sorted = (value) => Array.isArray(value) ? value.map(sorted) : value === null || typeof value !== "object" ? value
  : Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]));

const same = (found, right) => {
  const [a, b] = [found, right].map((value) => JSON.stringify(sorted(value)));
  if (a !== b) throw new Error(`${a} is not ${b}`.slice(0, 300));
};
const isKey = (voter) => {
  if (!/^[0-9a-f]{64}$/.test(voter)) return false;
  const y = unhex(voter);
  y[31] &= 0x7f;
  return BigInt("0x" + hex(y.slice().reverse())) < 2n ** 255n - 19n && !SMALL.includes(hex(y));
};
const keyOf = async (secret) => {
  const der = unhex("302e020100300506032b657004220420" + secret);
  const key = await crypto.subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]);
  const { x } = await crypto.subtle.exportKey("jwk", key);
  const point = atob(x.replace(/-/g, "+").replace(/_/g, "/"));
  return { key, voter: hex(Uint8Array.from(point, (letter) => letter.charCodeAt(0))) };
};
const pick = (k, u, T, K) => {
  const p = Math.floor(u * GRID), j = Math.floor((p - T) / ((GRID - T) / (K - 1)));
  return p < T ? k : j < k ? j : j + 1;
};

const checks = (client) => {
  const isSigned = async (m, signature, x) => isKey(m.voter) && client.isSigned(m.voter, m, signature, x);
  return {
    canonical: async ({ value, bytes, sha256: hash }) => {
      same(hex(text.encode(client.canonical(value))), bytes);
      same(await client.fingerprint(value), hash);
    },
    fingerprints: async ({ spec, fingerprint }) => same(await client.fingerprint(spec), fingerprint),
    specifications: async ({ written, spec, fingerprint }) => {
      same(complete(written), spec);
      same(await client.fingerprint(complete(written)), fingerprint);
    },
    keys: async ({ secret, voter, good }) => {
      same(isKey(voter), good);
      if (secret) same((await keyOf(secret)).voter, voter);
    },
    messages: async ({ secret, message, board, fingerprint, line, signature }) => {
      const x = { board, fingerprint }, { key, voter } = await keyOf(secret);
      same([voter, client.line(message, x), await client.sign(key, message, x)], [message.voter, line, signature]);
      same(await isSigned(message, signature, x), true);
    },
    moved: async ({ message, board, fingerprint, signature }) =>
      same(await isSigned(message, signature, { board, fingerprint }), false),
    truths: ({ privacy, arms, truths }) => same(client.truths(privacy, arms), truths), // to the last place
    picks: ({ truth, noise, truths, arms, told }) => same(pick(truth, noise, truths, arms), told),
    subsets: ({ segments, subset, privacy, own, other, absent }) => {
      same(client.subsets(segments, subset, privacy), { segments, size: subset, own, other });
      same(GRID - own - other, absent);
    },
    signed_subsets: ({ segments, subset, own, other, segment, reward, uniforms, low, high }) => {
      const made = { segments, size: subset, own, other }, words = uniforms.values();
      const noise = client.drawNoise(made, segment, () => words.next().value);
      same(client.signedSubset(made, segment, reward, noise), { low, high });
      same(words.next().done, true);
    },
    bits: ({ reward, noise, truths, told }) => same(client.blur(reward, noise, truths), told),
    tallies: async ({ spec, board, players, log, taken, tallies, head }) => {
      const x = { board, fingerprint: await client.fingerprint(spec) }, counted = tally(spec, players);
      let last = await sha256(text.encode(client.line({ type: "log" }, x)));
      for (const [i, { message, signature }] of log.entries()) {
        const isGood = message.type === "withdrawal" // which the server enters, unsigned
          ? hex(await sha256(text.encode(client.line(message, x)))) === signature : await isSigned(message, signature, x);
        same([isGood, counted.take(message)], [true, taken[i]]);
        same(counted.public(), tallies[i]);
        if (taken[i]) last = await sha256(joined(last, text.encode(`${client.line(message, x)} ${signature}`)));
      }
      same(hex(last), head);
    },
  };
};

/** Run all vectors; `read` gives those of a name. Returns how many there are, and what is wrong. */
export const run = async (client, read) => {
  let count = 0;
  const wrong = [];
  for (const [name, check] of Object.entries(checks(client)))
    for (const vector of await read(name))
      try {
        count += 1;
        await check(vector);
      } catch (error) {
        wrong.push(`${name}: ${error.message}`);
      }
  return { count, wrong };
};

if (globalThis.process?.argv[1] && import.meta.url.endsWith("/vectors.mjs") && !globalThis.document) {
  const { readFileSync } = await import("node:fs");
  const { pathToFileURL } = await import("node:url");
  const at = (path) => new URL(path, import.meta.url);
  const [, , given, folder] = process.argv;
  const client = await import(given ? pathToFileURL(given).href : at("../dist/devote.js").href);
  const base = folder ? pathToFileURL(`${folder}/`) : at("../../../tests/vectors/");
  const { count, wrong } = await run(client, (name) => JSON.parse(readFileSync(new URL(`${name}.json`, base), "utf8")));
  for (const each of wrong) console.log(each);
  console.log(`${count} vectors, ${wrong.length} wrong`);
  process.exitCode = wrong.length ? 1 : 0;
}
