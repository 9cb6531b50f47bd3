import type { State } from "./state.js";
/** What a page sets for its visitors. */
export interface Limits {
    /** The share of browsers that take part, more than 0 and at most 1. */
    readonly traffic?: number;
    /** A group of surveys of which a browser takes part in one, the first. */
    readonly exclusive?: string;
    /** The most that the `privacy` of all surveys of this origin may sum to in a browser. */
    readonly budget?: number;
}
/**
 * Enter a survey that is about to be joined among the `others` of this origin; gives what is left of the budget.
 * Until the server has answered all of that counts as spent, so that a page that dies in between spends too much.
 */
export declare const admit: (state: State, others: readonly State[], limits: Limits) => number | undefined;
