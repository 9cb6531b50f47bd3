import { type Envelope, type Scope } from "./signing.js";
/** Milliseconds for which an answer is waited for. */
export declare const PATIENCE = 10000;
/** A survey as its server describes it. */
export interface Survey extends Scope {
    readonly name: string;
    readonly arms: readonly string[];
    /** The e of local differential privacy; null for none. */
    readonly privacy: number | null;
    readonly answers: number;
    /** Seconds. */
    readonly replyAfter: number;
    readonly byInvite: boolean;
    /** The names of the kinds of users, none where all are of one kind. */
    readonly segments: readonly string[];
    /** How many segments an answer holds. */
    readonly subset: number;
}
/** How a segment stands: the arm that leads there, or has won. */
export interface Segment {
    readonly status: "open" | "agreed";
    readonly leader: number;
}
/**
 * What a device is told of the count: the arms that may still be the answer, by index and the likeliest
 * first; those among which a device draws; and a number of what was read, which its answer repeats.
 */
export interface Told {
    readonly status: "open" | "agreed";
    readonly shared: readonly number[];
    readonly answer: readonly number[];
    readonly asked: readonly number[];
    readonly snapshot: number;
    readonly segments: readonly Segment[];
    /** Arms that the operator has withdrawn. */
    readonly withdrawn: readonly number[];
}
/** What a request to join is answered; `said` are own earlier answers. */
export interface Joined {
    readonly survey: Survey;
    readonly outcome: Outcome;
    /** Whether the board takes nothing, or nothing from this voter, whatever its invite. */
    readonly isBarred: boolean;
    readonly said: Envelope[];
    readonly number: number;
    readonly told: Told;
}
export type Outcome = "accepted" | "duplicate" | "refused";
/** What a page accepts: at most this e of local differential privacy, and only this specification. */
export interface Pins {
    readonly privacy?: number | undefined;
    readonly fingerprint?: string;
    /** What is left of the page's budget. */
    readonly left?: number | undefined;
}
/** Refuse a survey that is weaker than the page accepts, or is another one. */
export declare const checkPins: ({ privacy, fingerprint: print, left }: Pins, survey: Survey) => void;
/** One experiment at its address. */
export declare class Board {
    #private;
    readonly url: string;
    constructor(url: string);
    /** The name of the experiment, as the address has it. */
    get name(): string;
    /**
     * Ask for all that it takes to take part, and to be enrolled if the survey is as pinned: one request, with no
     * preflight. With a budget the survey is read before: how much is left would tell of other surveys.
     */
    join(voter: string, signature: string, invite: string | null, pins: Pins): Promise<Joined>;
    /** What the board holds of a voter. */
    saidBy(voter: string): Promise<Envelope[]>;
    tally(survey: Survey): Promise<{
        number: number;
        told: Told;
    }>;
    post(envelope: Envelope): Promise<Outcome>;
    /** Post it from a page that is being left: nobody waits for what becomes of it. */
    postLast(envelope: Envelope): void;
}
