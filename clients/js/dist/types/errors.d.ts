/** What can go wrong, by a code that a page can act on. */
export type Code = "unsupported" | "storage" | "full" | "scheme" | "invite" | "origin" | "version" | "unknown" | "server" | "offline" | "busy" | "limits" | "out" | "consent" | "pinned" | "changed" | "refused" | "clock" | "segment" | "reward";
/** An error of this client: `code` for programs, `message` for people. */
export declare class DevoteError extends Error {
    readonly code: Code;
    /** Seconds after which the server asked to be tried again. */
    readonly retryAfter: number | null;
    readonly name = "DevoteError";
    constructor(code: Code, message: string, 
    /** Seconds after which the server asked to be tried again. */
    retryAfter?: number | null);
}
/** Whatever was thrown, as an error of this client. */
export declare const asDevoteError: (thrown: unknown) => DevoteError;
