/**
 * What a device knows, as one record in the browser's store, and the steps that change it. A step is
 * made within one transaction: all of it is stored or none. Nothing here waits, and nothing sends.
 *
 *   ask -> (reward or close) -> release -> settle
 *
 * A question is an arm with the noise for its answer, drawn together and once. The reward, or none in
 * time, makes the bit; the noise is then forgotten. When its moment has come the answer is released:
 * signed, in the outbox. The board's word settles it.
 */
import type { Survey, Told } from "./board.js";
import { below, blur, GRID, truths, uniform } from "./noise.js";
import type { Answer, Envelope } from "./signing.js";

/** An answer leaves between 1.05 and 1.25 times `replyAfter` after the choice. */
const EARLIEST = 0.05;
const LATEST = 0.25;

/** The question that is open, or its answer that waits for its moment. */
export interface Play {
  /** By which a page names it. */
  readonly id: string;
  readonly arm: number;
  readonly number: number;
  /** The snapshot from whose asked arms the arm was drawn. */
  readonly seen: number;
  /** Until the bit is made of it. */
  noise: number | null;
  bit: 0 | 1 | null;
  /** Milliseconds of the wall clock, which are looked at only when a page is opened. */
  askedAt: number;
  leavesAt: number;
  /** Whether it was handed out a second time, to another tab or after a reload. */
  shared: boolean;
  /** Whether its answer is sent when its page is left: then no other page hands it out or rewards it. */
  readonly endsWithPage: boolean;
}

export interface State {
  readonly url: string;
  /** That of the first join. */
  survey: Survey;
  /** Cannot be read out, only signed with. */
  readonly key: CryptoKey;
  readonly voter: string;
  invite: string | null;
  enrolled: boolean;
  told: Told | null;
  /** The board's last number when it was read last. */
  number: number;
  /** Answers given, sent or not. */
  given: number;
  play: Play | null;
  outbox: Envelope[];
  sent: Envelope[];
}

/** What is known of a survey before the first join. */
const UNKNOWN: Survey = {
  board: "-", fingerprint: "-", name: "", arms: [], privacy: null, answers: 0, replyAfter: 0, byInvite: false,
};

export const fresh = (url: string, key: CryptoKey, voter: string): State => ({
  url, survey: UNKNOWN, key, voter, invite: null, enrolled: false, told: null, number: 0, given: 0, play: null, outbox: [], sent: [],
});

/** What was read last; before that, everything is asked about. */
export const known = (state: State): Told => {
  const all = state.survey.arms.map((_, arm) => arm);
  return state.told ?? { status: "open", shared: all, answer: all, asked: all, snapshot: 0 };
};

export const isOpen = (play: Play): boolean => play.noise !== null;

/** Milliseconds from the choice after which a reward comes too late. */
export const replyAfter = (state: State): number => 1000 * state.survey.replyAfter;

/** Whether an answer may be asked for: one is left and wanted, and no other is on its way. */
const mayAsk = (state: State): boolean =>
  state.enrolled && state.given < state.survey.answers && areWanted(state)
  && state.play === null && state.outbox.length === 0;

/** Put a question, if one may be asked. */
export const ask = (state: State, wall: number, endsWithPage = false): Play | null => {
  if (!mayAsk(state)) return null;
  const { asked, snapshot } = known(state);
  const after = replyAfter(state);
  const wait = after * (1 + EARLIEST + (LATEST - EARLIEST) * uniform());
  state.play = {
    id: crypto.randomUUID(), arm: asked[Math.floor(uniform() * asked.length)]!, number: state.given + 1,
    seen: snapshot, noise: uniform(), bit: null, askedAt: wall, leavesAt: wall + wait, shared: false,
    endsWithPage,
  };
  return state.play;
};

/** Whether it was asked on an earlier page and waits to be answered, or an answer waits to leave. */
export const hasWaiting = (state: State): boolean => state.play !== null || state.outbox.length > 0;

/** Make the bit, and forget what it was made of. */
export const reward = (state: State, play: Play, x: number): void => {
  const { privacy, answers } = state.survey;
  const each = privacy === null || answers === 1 ? privacy : below(privacy / answers);
  play.bit = blur(x, play.noise!, each === null ? GRID : truths(each));
  play.noise = null;
};

/** The answer of a play, to be signed. */
export const answerOf = (state: State, play: Play): Answer => ({
  v: 2, type: "answer", experiment: state.survey.name, voter: state.voter, arm: play.arm, bit: play.bit!, number: play.number,
  seen: play.seen,
});

/** The moment has come: the signed answer goes to the outbox. */
export const release = (state: State, envelope: Envelope): void => {
  state.outbox.push(envelope);
  state.given = envelope.message.number;
  state.play = null;
};

/** Whether answers are of use, by what was read last: until the survey is decided. */
export const areWanted = (state: State): boolean => known(state).status === "open";

const isIn = (envelopes: Envelope[], { signature }: Envelope): boolean =>
  envelopes.some((other) => other.signature === signature);

/** What became of a posted answer; one that nobody wants any more counts as given. */
export const settle = (state: State, envelope: Envelope, there: boolean): void => {
  state.outbox = state.outbox.filter((other) => other.signature !== envelope.signature);
  if (there && !isIn(state.sent, envelope)) state.sent.push(envelope);
};

/** Take in what the board holds of this device: what was said once is not said again. */
export const recall = (state: State, said: Envelope[]): void => {
  for (const envelope of said) {
    const { number } = envelope.message;
    state.outbox = state.outbox.filter((other) => other.message.number !== number);
    if (!state.sent.some((other) => other.message.number === number)) state.sent.push(envelope);
    state.given = Math.max(state.given, number);
    if (state.play !== null && state.play.number <= number) state.play = null;
  }
};

/** Take in the tally; a board put back to a backup is offered again what it may have lost. */
export const hear = (state: State, told: Told, number: number): void => {
  if (number < state.number) state.outbox.unshift(...state.sent.filter((envelope) => !isIn(state.outbox, envelope)));
  state.told = told;
  state.number = number;
};

/**
 * When a question that a page finds in its store closes, and when its answer leaves: milliseconds from
 * now. The wall clock tells how much is left, never more than all of it; if it was set back, what is
 * stored is corrected. An answer whose moment has passed leaves within a second.
 */
export const resume = (state: State, play: Play, wall: number): { closes: number; leaves: number; isSetBack: boolean } => {
  const after = replyAfter(state);
  const isSetBack = play.askedAt > wall;
  if (isSetBack) {
    play.leavesAt += wall - play.askedAt;
    play.askedAt = wall;
  }
  const left = play.leavesAt - wall;
  return {
    closes: Math.max(0, play.askedAt + after - wall),
    leaves: left > 0 ? Math.min(left, (1 + LATEST) * after) : uniform() * Math.min(1000, LATEST * after),
    isSetBack,
  };
};
