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

/** 2^53 / (times exp(e) + more), rounded up, with exp(e) rounded down. */
const unit = (privacy: number, times: number, more: number): bigint => {
  const each = BigInt(times) * BigInt(below(below(exp(privacy))) * 2 ** 52) + (BigInt(more) << 52n);
  return ((1n << 105n) + each - 1n) / each;
};

/** How many of the `GRID` values stand for the truth, with `arms` things to tell apart. */
export const truths = (privacy: number, arms = 2): number => {
  const others = arms - 1;
  return GRID - Number(unit(privacy, 1, others) * BigInt(others));
};

/** The bit for a reward in [0, 1] that the noise makes of it. */
export const blur = (reward: number, noise: number, truthful: number): 0 | 1 => {
  const lies = GRID - truthful;
  return noise * GRID < lies + Math.floor(reward * (truthful - lies)) ? 1 : 0;
};

/** What hides a segment and a reward together: how many values stand for each case. */
export interface Subsets {
  readonly segments: number;
  /** How many segments an answer holds. */
  readonly size: number;
  /** For the own segment with its own sign, and with the other one; else it is left out. */
  readonly own: number;
  readonly other: number;
}

export const subsets = (segments: number, size: number, privacy: number | null): Subsets => {
  const u = privacy === null ? 0 : Number(unit(privacy, size, 2 * segments - size));
  const other = size * u;
  return { segments, size, own: GRID - other - 2 * (segments - size) * u, other };
};

/** All that is random in an answer, drawn with its question: a place, other segments, their signs. */
export interface Noise {
  readonly place: number;
  readonly others: readonly number[];
  readonly signs: readonly number[];
}

/** Draw it; other segments are drawn until enough different ones have come, so they are uniform. */
export const drawNoise = ({ segments, size, own, other }: Subsets, segment: number, draw = uniform): Noise => {
  const bits = (n: number): number => Math.floor(draw() * 2 ** n);
  const place = bits(53);
  const others: number[] = [];
  const wanted = own + other < GRID ? Math.min(size, segments - 1) : 0;
  while (others.length < wanted) {
    const z = bits(Math.ceil(Math.log2(segments)));
    if (z < segments && z !== segment && !others.includes(z)) others.push(z);
  }
  return { place, others, signs: others.map(() => (bits(1) ? 1 : -1)) };
};

/** The signs of an answer in base 3: 0 for none, 1 for +, 2 for -; 32 segments in a number. */
export const signedSubset = (
  { segments, size, own, other }: Subsets, segment: number, reward: number, noise: Noise,
): { low: number; high: number } => {
  const signs = Array<number>(segments).fill(0);
  const place = noise.place - (GRID - own - other);
  const isPresent = place >= 0;
  if (isPresent) signs[segment] = place < other + Math.floor(reward * (own - other)) ? 1 : 2;
  const members = isPresent ? size - 1 : size;
  noise.others.slice(0, members).forEach((z, i) => (signs[z] = noise.signs[i]! > 0 ? 1 : 2));
  const number = (digits: number[]): number => digits.reduceRight((x, digit) => 3 * x + digit, 0);
  return { low: number(signs.slice(0, 32)), high: number(signs.slice(32)) };
};
