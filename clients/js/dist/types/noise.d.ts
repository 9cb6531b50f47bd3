/** Randomized response, exact: every probability is a ratio of whole numbers. See docs/wire.md. */
/** How many values a uniform number can take. */
export declare const GRID: number;
/** A uniform number of 53 random bits in [0, 1). */
export declare const uniform: () => number;
/** The double below a positive one. */
export declare const below: (x: number) => number;
/** How many of the `GRID` values stand for the truth, with `arms` things to tell apart. */
export declare const truths: (privacy: number, arms?: number) => number;
/** The bit for a reward in [0, 1] that the noise makes of it. */
export declare const blur: (reward: number, noise: number, truthful: number) => 0 | 1;
/** What hides a segment and a reward together: how many values stand for each case. */
export interface Subsets {
    readonly segments: number;
    /** How many segments an answer holds. */
    readonly size: number;
    /** For the own segment with its own sign, and with the other one; else it is left out. */
    readonly own: number;
    readonly other: number;
}
export declare const subsets: (segments: number, size: number, privacy: number | null) => Subsets;
/** All that is random in an answer, drawn with its question: a place, other segments, their signs. */
export interface Noise {
    readonly place: number;
    readonly others: readonly number[];
    readonly signs: readonly number[];
}
/** Draw it; other segments are drawn until enough different ones have come, so they are uniform. */
export declare const drawNoise: ({ segments, size, own, other }: Subsets, segment: number, draw?: () => number) => Noise;
/** The signs of an answer in base 3: 0 for none, 1 for +, 2 for -; 32 segments in a number. */
export declare const signedSubset: ({ segments, size, own, other }: Subsets, segment: number, reward: number, noise: Noise) => {
    low: number;
    high: number;
};
