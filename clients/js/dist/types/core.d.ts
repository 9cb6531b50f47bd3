/**
 * A device without its network: its record in the store, and the clock by which a question closes and
 * its answer leaves. While the page is open the clock is one that never jumps.
 */
import { DevoteError } from "./errors.js";
import { type Play, type State } from "./state.js";
import { type Limits } from "./limits.js";
import type { Store } from "./store.js";
type Step<T> = (state: State, save: () => void) => T;
export declare class Core {
    #private;
    /** What the store holds, as far as this page has seen; null before the first join. */
    state: State | null;
    trouble: DevoteError | null;
    constructor(store: Store, url: string);
    /** Look into the store for what this or another page has left there. */
    load(): Promise<State | null>;
    begin(state: State): Promise<void>;
    /** Change the record; what is due by the clock is done first. On disk when this returns. */
    step<T>(step: Step<T>): Promise<T>;
    /** The same for a step that always changes something. */
    change(step: (state: State) => void): Promise<void>;
    /** Enter the survey among those of this origin, before it is joined; see `limits.ts`. */
    admit(limits: Limits): Promise<number | undefined>;
    /** Whether this page was the first to hand out the play, and was not left since. */
    isOwn(id: string): boolean;
    /** The page is left. */
    leave(): void;
    /** The open question; or a new one, if one may be asked and it is not too late. */
    ask(segment: string | undefined, isLate: () => boolean, endsWithPage: boolean): Promise<{
        play: Play;
        isNew: boolean;
    } | null>;
    /** Take a question back that was not shown, unless another page shows it. */
    withdraw(play: Play): Promise<void>;
    /** Whether an answer is to leave now. */
    get isDue(): boolean;
    /** When the question closes or its answer leaves, whichever comes next. */
    get nextMoment(): number;
    /** Seconds until the answer leaves, whether it is made already or not. */
    get leavesIn(): number | null;
    close(): void;
}
export {};
