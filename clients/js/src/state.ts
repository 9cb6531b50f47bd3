/**
 * What a device knows, as one record in the browser's store, and the steps that change it. A step is
 * made within one transaction: all of it is stored or none. Nothing here waits, and nothing sends.
 *
 *   ask -> (reward or close) -> release -> settle
 *
 * A question is an arm with the noise for its answer, drawn together and once. The reward, or none in
 * time, makes the answer's content; the noise is then forgotten. When its moment has come the answer is
 * released: signed, in the outbox. The board's word settles it.
 *
 * The own segment is kept here and never sent. Once it is decided its answer is played, and a question
 * is put as before, with a fair coin in place of a reward.
 */
import type { Survey, Told } from "./board.js";
import { DevoteError } from "./errors.js";
import { below, blur, drawNoise, GRID, signedSubset, subsets, truths, uniform, type Noise } from "./noise.js";
import type { Answer, Content, Envelope } from "./signing.js";

/** An answer leaves between 1.05 and 1.25 times `replyAfter` after the choice. */
const EARLIEST = 0.05;
const LATEST = 0.25;

/** The question that is open, or its answer that waits for its moment. */
export interface Play {
  /** By which a page names it. */
  readonly id: string;
  /** That the answer is about. */
  readonly arm: number;
  /** That is played: another one if the own segment is decided, and a fair coin is the reward. */
  readonly shown: number;
  readonly isCoin: boolean;
  readonly number: number;
  /** The snapshot from whose asked arms the arm was drawn. */
  readonly seen: number;
  /** Until the content is made of it. */
  noise: number | Noise | null;
  content: Content | null;
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
  /** The own one, by its number; it never leaves the store. */
  segment: number | null;
  /** Cannot be read out, only signed with. */
  readonly key: CryptoKey;
  readonly voter: string;
  /** A number in [0, 1) that decides whether this browser is in the traffic; it never leaves the store. */
  readonly draw: number;
  exclusive: string | null;
  /** The e that it takes of a budget. */
  spends: number;
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
  segments: [], subset: 1,
};

export const fresh = (url: string, key: CryptoKey, voter: string): State => ({
  url, survey: UNKNOWN, segment: null, key, voter, draw: uniform(), exclusive: null, spends: 0, invite: null, enrolled: false, told: null, number: 0, given: 0, play: null,
  outbox: [], sent: [],
});

/** What was read last; before that, everything is asked about. */
export const known = (state: State): Told => {
  const all = state.survey.arms.map((_, arm) => arm);
  return state.told ?? { status: "open", shared: all, answer: all, asked: all, snapshot: 0, segments: [], withdrawn: [] };
};

/** How things stand for this device: the arm that leads, in its own segment if it has one, and has won or not. */
export const standing = (state: State): { leader: number; isDecided: boolean } => {
  const { status, answer, segments } = known(state);
  const own = state.segment === null ? undefined : segments[state.segment];
  const isDecided = (own?.status ?? (segments.length ? "open" : status)) === "agreed";
  return { leader: own?.leader ?? answer[0]!, isDecided };
};

/** Keep the own segment, by its name; returns whether it is new. No error tells which one it is. */
export const takeSegment = (state: State, name: string | undefined): boolean => {
  const { name: survey, segments } = state.survey;
  const wrong = (what: string) => new DevoteError("segment", `${survey} ${what}`);
  if (segments.length === 0) {
    if (name !== undefined) throw wrong("has no segments, and one was given. Leave it out.");
    return false;
  }
  const known = `Pass one of: ${segments.join(", ")}.`;
  if (name === undefined) throw wrong(`has segments, and none was given. ${known}`);
  const segment = segments.indexOf(name);
  if (segment < 0) throw wrong(`has no such segment. ${known}`);
  if (state.segment !== null && state.segment !== segment)
    throw wrong("was given another segment in this browser before. Pass the same each time.");
  const isNew = state.segment === null;
  state.segment = segment;
  return isNew;
};

const subsetsOf = ({ segments, subset, privacy }: Survey) => subsets(segments.length, subset, privacy);

export const isOpen = (play: Play): boolean => play.noise !== null;

/** Whether the arm of an open question was withdrawn since: then it is not shown again. */
export const isWithdrawn = (state: State, play: Play): boolean => known(state).withdrawn.includes(play.shown);

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
  const { leader, isDecided } = standing(state);
  const after = replyAfter(state);
  const wait = after * (1 + EARLIEST + (LATEST - EARLIEST) * uniform());
  const arm = asked[Math.floor(uniform() * asked.length)]!;
  const noise = state.segment === null ? uniform() : drawNoise(subsetsOf(state.survey), state.segment);
  state.play = {
    id: crypto.randomUUID(), arm, shown: isDecided ? leader : arm, isCoin: isDecided, number: state.given + 1,
    seen: snapshot, noise, content: null, askedAt: wall, leavesAt: wall + wait, shared: false, endsWithPage,
  };
  return state.play;
};

/** The arm of the first question, which a sticky page goes on to show while it is not out. */
export const kept = (state: State): number | null => {
  const answer = state.sent[0] ?? state.outbox[0];
  const arm = answer?.message.arm ?? state.play?.shown;
  return arm !== undefined && known(state).shared.includes(arm) ? arm : null;
};

/** Whether it was asked on an earlier page and waits to be answered, or an answer waits to leave. */
export const hasWaiting = (state: State): boolean => state.play !== null || state.outbox.length > 0;

const blurred = ({ privacy, answers }: Survey, x: number, noise: number): Content => {
  const each = privacy === null || answers === 1 ? privacy : below(privacy / answers);
  return { bit: blur(x, noise, each === null ? GRID : truths(each)) };
};

/** Make the answer's content, and forget what it was made of. */
export const reward = (state: State, play: Play, x: number): void => {
  const { survey, segment } = state;
  play.content = typeof play.noise === "number" ? blurred(survey, x, play.noise)
    : signedSubset(subsetsOf(survey), segment!, play.isCoin ? 0.5 : x, play.noise!);
  play.noise = null;
};

/** The kind of message in which a survey has its answers. */
export const typeOf = ({ segments }: Survey): Answer["type"] => (segments.length ? "segmented_answer" : "answer");

/** The answer of a play, to be signed. */
export const answerOf = (state: State, play: Play): Answer => ({
  v: 2, type: typeOf(state.survey), experiment: state.survey.name, voter: state.voter, arm: play.arm, ...play.content!,
  number: play.number, seen: play.seen,
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
