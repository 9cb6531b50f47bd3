import type { State } from "./state.js";
export declare class Store {
    #private;
    private constructor();
    static open(): Promise<Store>;
    /** What is stored of an experiment. */
    read(url: string): Promise<State | undefined>;
    /** What is stored of all experiments of this origin. */
    all(): Promise<State[]>;
    /** Store a new record, or replace it. */
    write(state: State): Promise<void>;
    /** Make a step: `step` changes the record and says by `save` that it did. On disk when this returns. */
    step<T>(url: string, step: (state: State, save: () => void) => T): Promise<T>;
    /** The same for a step that looks at the other records of this origin too, and always changes its own. */
    stepAmong<T>(url: string, step: (state: State, others: State[]) => T): Promise<T>;
    close(): void;
}
