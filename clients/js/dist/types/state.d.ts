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
import { type Noise } from "./noise.js";
import type { Answer, Content, Envelope } from "./signing.js";
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
export declare const fresh: (url: string, key: CryptoKey, voter: string) => State;
/** What was read last; before that, everything is asked about. */
export declare const known: (state: State) => Told;
/** How things stand for this device: the arm that leads, in its own segment if it has one, and has won or not. */
export declare const standing: (state: State) => {
    leader: number;
    isDecided: boolean;
};
/** Keep the own segment, by its name; returns whether it is new. No error tells which one it is. */
export declare const takeSegment: (state: State, name: string | undefined) => boolean;
export declare const isOpen: (play: Play) => boolean;
/** Whether the arm of an open question was withdrawn since: then it is not shown again. */
export declare const isWithdrawn: (state: State, play: Play) => boolean;
/** Milliseconds from the choice after which a reward comes too late. */
export declare const replyAfter: (state: State) => number;
/** Put a question, if one may be asked. */
export declare const ask: (state: State, wall: number, endsWithPage?: boolean) => Play | null;
/** The arm of the first question, which a sticky page goes on to show while it is not out. */
export declare const kept: (state: State) => number | null;
/** Whether it was asked on an earlier page and waits to be answered, or an answer waits to leave. */
export declare const hasWaiting: (state: State) => boolean;
/** Make the answer's content, and forget what it was made of. */
export declare const reward: (state: State, play: Play, x: number) => void;
/** The kind of message in which a survey has its answers. */
export declare const typeOf: ({ segments }: Survey) => Answer["type"];
/** The answer of a play, to be signed. */
export declare const answerOf: (state: State, play: Play) => Answer;
/** The moment has come: the signed answer goes to the outbox. */
export declare const release: (state: State, envelope: Envelope) => void;
/** Whether answers are of use, by what was read last: until the survey is decided. */
export declare const areWanted: (state: State) => boolean;
/** What became of a posted answer; one that nobody wants any more counts as given. */
export declare const settle: (state: State, envelope: Envelope, there: boolean) => void;
/** Take in what the board holds of this device: what was said once is not said again. */
export declare const recall: (state: State, said: Envelope[]) => void;
/** Take in the tally; a board put back to a backup is offered again what it may have lost. */
export declare const hear: (state: State, told: Told, number: number) => void;
/**
 * When a question that a page finds in its store closes, and when its answer leaves: milliseconds from
 * now. The wall clock tells how much is left, never more than all of it; if it was set back, what is
 * stored is corrected. An answer whose moment has passed leaves within a second.
 */
export declare const resume: (state: State, play: Play, wall: number) => {
    closes: number;
    leaves: number;
    isSetBack: boolean;
};
