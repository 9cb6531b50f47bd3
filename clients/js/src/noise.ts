/** Randomized response, exact: every probability is a ratio of whole numbers. See docs/wire.md. */

/** How many values a uniform number can take. */
export const GRID = 2 ** 53;

const SCALE = 128n;

/** A uniform number of 53 random bits in [0, 1). */
export const uniform = (): number => {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return ((high! >>> 5) * 2 ** 26 + (low! >>> 6)) / GRID;
};

/** The double below a positive one. */
export const below = (x: number): number => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigUint64(0, view.getBigUint64(0) - 1n);
  return view.getFloat64(0);
};

/** exp(e) rounded to the nearest double, for e from 1e-3 on: engines' own may be a digit off. */
const exp = (e: number): number => {
  const x = (BigInt(e * 2 ** 62) << (SCALE - 62n)) >> 10n; // e / 1024, for which the series is short
  let sum = 0n;
  for (let term = 1n << SCALE, n = 1n; term > 0n; n++) {
    sum += term;
    term = ((term * x) >> SCALE) / n;
  }
  for (let n = 0; n < 10; n++) sum = (sum * sum) >> SCALE;
  return Number(sum) / 2 ** Number(SCALE);
};

/** How many of the `GRID` values stand for the truth, with `arms` things to tell apart. */
export const truths = (privacy: number, arms = 2): number => {
  const odds = BigInt(below(below(exp(privacy))) * 2 ** 52);
  const others = BigInt(arms - 1);
  const each = odds + (others << 52n);
  const lies = ((1n << 105n) + each - 1n) / each;
  return Number((1n << 53n) - lies * others);
};

/** The bit for a reward in [0, 1] that the noise makes of it. */
export const blur = (reward: number, noise: number, truthful: number): 0 | 1 => {
  const lies = GRID - truthful;
  return noise * GRID < lies + Math.floor(reward * (truthful - lies)) ? 1 : 0;
};
