/** Whether a browser takes part at all: decided in its store, before anything is sent. */
import { DevoteError } from "./errors.js";
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

const out = (why: string): DevoteError => new DevoteError("out", `${why} It shows the fallback, and nothing is sent.`);

/**
 * Enter a survey that is about to be joined among the `others` of this origin; gives what is left of the budget.
 * Until the server has answered all of that counts as spent, so that a page that dies in between spends too much.
 */
export const admit = (state: State, others: readonly State[], limits: Limits): number | undefined => {
  const { traffic = 1, exclusive, budget } = limits;
  if (!(traffic > 0 && traffic <= 1) || !(budget === undefined || budget > 0))
    throw new DevoteError("limits", "traffic is more than 0 and at most 1, and budget more than 0. Correct what is passed to join.");
  if (state.draw >= traffic) throw out(`This browser is not among those that take part: traffic is ${traffic}.`);
  const joined = others.filter(({ spends }) => spends > 0);
  const other = joined.find(({ exclusive: group }) => exclusive !== undefined && group === exclusive);
  if (other) throw out(`This browser takes part in ${other.url}, of the exclusive group ${exclusive}.`);
  const left = budget && budget - joined.reduce((sum, { spends }) => sum + spends, 0);
  if (left !== undefined && !(left > 0)) throw out(`The surveys of this browser have used up the budget of ${budget}.`);
  state.exclusive = exclusive ?? null;
  state.spends = left ?? Infinity;
  return left;
};
