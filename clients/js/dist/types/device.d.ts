import { DevoteError } from "./errors.js";
import type { Limits } from "./limits.js";
export interface Options extends Limits {
    /** The arm to show when nothing better is known in time. */
    readonly fallback: string;
    /** At most so many milliseconds pass before `choose` answers; 500 unless set. */
    readonly within?: number;
    /** An invite, or how to get one, which is asked for on the first visit only. */
    readonly invite?: string | (() => string | Promise<string>);
    /** The highest e of local differential privacy that the page accepts, for all that a browser ever sends. */
    readonly privacy?: number;
    /** The fingerprint of the only specification that the page accepts. */
    readonly fingerprint?: string;
    /**
     * `"send"`: when the page is left, its answer is sent at once, click or no click. For a click that leads to a
     * page without the client. When the page is left is then seen on the network.
     */
    readonly leave?: "send";
    /** Show the arm of the first question until the survey has settled or the arm is out, and ask once only. */
    readonly sticky?: boolean;
    /** `"required"`: nothing is stored or sent before `consent()` is called, on each page. */
    readonly consent?: "required";
}
/** Of whom a choice is. */
export interface Visitor {
    /** The kind of user, where the survey has segments: the same each time. It never leaves the browser. */
    readonly segment?: string;
}
/** What to show. */
export interface Choice {
    readonly name: string;
    /** Its index; null if the experiment is not known yet, or has no arm of the name. */
    readonly arm: number | null;
    /** The question that this is; null if it is none. */
    readonly play: string | null;
}
/** What became of a reward: only one for an open question counts, once and in time. */
export type Fate = "counted" | "closed" | "unasked";
export interface Status {
    readonly joined: boolean;
    /** Of the survey, by what was read last. */
    readonly state: "open" | "agreed";
    readonly arms: readonly string[];
    /** The arm that looks best, in the own segment if one was given; null before the first read. */
    readonly leader: string | null;
    /** The arm that the survey has settled on, for the own segment if there are any; null before that. */
    readonly best: string | null;
    /** How many answers of this browser the board has. */
    readonly sent: number;
    /** Seconds until an answer leaves; null if none is on its way. */
    readonly replyIn: number | null;
    /** What went wrong last; null if all is well. */
    readonly trouble: DevoteError | null;
}
/** Take part in the survey at `url`. Returns at once, and throws nothing: `status().trouble` tells. */
export declare const join: (url: string, options: Options) => Device;
/**
 * Send what earlier pages of this origin have left, when it is due: for every page of a site, also those that
 * ask nothing. Throws nothing; gives the devices that have something to send.
 */
export declare const resume: () => Promise<Device[]>;
export declare class Device {
    #private;
    /** The visitor has consented: take part, after `consent: "required"`. */
    consent(): Promise<void>;
    /** Resolves when the attempt to take part has ended, well or not. */
    get ready(): Promise<void>;
    /** What to show. Never fails, and answers within the time given. */
    choose({ segment }?: Visitor): Promise<Choice>;
    /** What a choice was worth, from 0 to 1. It makes one noisy bit and is forgotten. */
    reward(x: number, choice: Choice): Promise<Fate>;
    /** The arm that the survey has settled on, for the own segment if there are any; null before that. */
    best(): string | null;
    /** How things stand, by what is known without waiting. */
    status(): Status;
    /** Stop. What waits is kept, and sent on the next visit. */
    close(): void;
}
