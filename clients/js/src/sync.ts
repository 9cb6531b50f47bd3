/** Bringing a device and its board together. Whoever calls holds the lock: one page at a time does. */
import { checkPins, type Board, type Pins, type Survey } from "./board.js";
import { sha256 } from "./canonical.js";
import type { Core } from "./core.js";
import { DevoteError, type Code } from "./errors.js";
import type { Limits } from "./limits.js";
import {
  answerOf, areWanted, fresh, hear, isOpen, recall, release, settle, typeOf, type Play, type State,
} from "./state.js";
import { isSigned, makeKey, sign, type Envelope } from "./signing.js";

/** After these this browser is surely not enrolled. */
const UNASKED: readonly Code[] = ["pinned", "out", "unknown"];

/** It was not enrolled: it spends nothing, unless a board that denies that has an answer already. */
const unspend = (state: State): void => {
  state.spends = state.given > 0 ? state.survey.privacy ?? Infinity : 0;
};

/**
 * Take part, if that is not done already. The key is stored before it is used, so that a page that dies
 * in between enrols again with the same key, which is harmless.
 */
export const enrol = async (core: Core, board: Board, pins: Pins & Limits, ask: () => Promise<string | null>): Promise<void> => {
  let state = await core.load();
  if (state?.enrolled) return checkPins(pins, state.survey);
  if (state === null) {
    const { key, voter } = await makeKey();
    await core.begin((state = fresh(board.url, key, voter)));
  }
  const left = await core.admit(pins);
  const { key, voter } = state;
  const invite = state.invite ?? (await ask());
  await core.change((state) => (state.invite = invite));
  const fields = { type: "join", experiment: board.name, invite: invite === null ? "-" : await sha256(invite), voter };
  const signature = await sign(key, fields, { board: "-", fingerprint: "-" });
  const { survey, outcome, isBarred, said, number, told } = await board.join(voter, signature, invite, { ...pins, left }).catch(async (error) => {
    const isUnasked = error instanceof DevoteError && UNASKED.includes(error.code);
    if (isUnasked) await core.change(unspend);
    throw error;
  });
  const isOther = state.survey.board !== survey.board || state.survey.fingerprint !== survey.fingerprint;
  if (isOther && state.given > 0)
    throw new DevoteError("changed", `Another experiment answers at ${board.url}; nothing is sent to it. Give it another name.`);
  if (outcome === "refused") {
    await core.change((state) => {
      state.invite = null;
      unspend(state);
    });
    const code = survey.byInvite && !isBarred ? "invite" : "refused";
    throw new DevoteError(code, "The survey does not take this browser: its invite is not known or was used before. Ask for another.");
  }
  const earlier = await own(voter, survey, said);
  await core.change((state) => {
    state.survey = survey;
    state.enrolled = true;
    state.spends = survey.privacy ?? Infinity;
    recall(state, earlier);
    hear(state, told, number);
  });
};

/** Read the tally. */
const read = async (core: Core, board: Board): Promise<void> => {
  const { survey } = core.state!;
  const { told, number } = await board.tally(survey);
  await core.change((state) => hear(state, told, number));
};

/** Those of some envelopes that this device has signed in this survey. */
const own = async (voter: string, survey: Survey, said: Envelope[]): Promise<Envelope[]> => {
  const found: Envelope[] = [];
  for (const { message, signature } of said) {
    const isOwn = message?.voter === voter && message.type === typeOf(survey) && message.experiment === survey.name;
    if (isOwn && (await isSigned(voter, { ...message }, signature, survey))) found.push({ message, signature });
  }
  return found;
};

/** The answer of a play whose bit is made. */
export const signed = async (state: State, play: Play): Promise<Envelope> => {
  const message = answerOf(state, play);
  return { message, signature: await sign(state.key, { ...message }, state.survey) };
};

/**
 * Read, and send what is due: the same requests whether a reward has come or not. Before anything is
 * sent the board is asked what it holds of this device, whose store may be an older copy of itself.
 */
export const round = async (core: Core, board: Board, pins: Pins & Limits, ask: () => Promise<string | null>): Promise<void> => {
  await enrol(core, board, pins, ask);
  if (core.isDue) {
    const said = await own(core.state!.voter, core.state!.survey, await board.saidBy(core.state!.voter));
    await core.change((state) => recall(state, said));
  }
  await read(core, board);
  const { play } = core.state!;
  if (core.isDue && play !== null && !isOpen(play)) {
    const envelope = await signed(core.state!, play);
    await core.change((state) => {
      if (state.play?.id === play.id) release(state, envelope);
    });
  }
  for (const envelope of core.state!.outbox) {
    const outcome = areWanted(core.state!) ? await board.post(envelope) : null;
    await core.change((state) => {
      if (outcome === "refused") state.enrolled = false; // perhaps the board has lost it: enrol again
      else settle(state, envelope, outcome !== null);
    });
    if (outcome === "refused") throw new DevoteError("refused", "The board refused the answer. It is offered again.");
  }
};
