/** Bringing a device and its board together. Whoever calls holds the lock: one page at a time does. */
import { type Board, type Pins } from "./board.js";
import type { Core } from "./core.js";
import type { Limits } from "./limits.js";
import { type Play, type State } from "./state.js";
import { type Envelope } from "./signing.js";
/**
 * Take part, if that is not done already. The key is stored before it is used, so that a page that dies
 * in between enrols again with the same key, which is harmless.
 */
export declare const enrol: (core: Core, board: Board, pins: Pins & Limits, ask: () => Promise<string | null>) => Promise<void>;
/** The answer of a play whose bit is made. */
export declare const signed: (state: State, play: Play) => Promise<Envelope>;
/**
 * Read, and send what is due: the same requests whether a reward has come or not. Before anything is
 * sent the board is asked what it holds of this device, whose store may be an older copy of itself.
 */
export declare const round: (core: Core, board: Board, pins: Pins & Limits, ask: () => Promise<string | null>) => Promise<void>;
