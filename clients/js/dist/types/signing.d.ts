export declare const VERSION = 2;
/** Where a signature is good: one board, one specification. */
export interface Scope {
    readonly board: string;
    readonly fingerprint: string;
}
/** What the noise makes of a reward: a bit; with segments, signs of some of them. */
export type Content = {
    readonly bit: 0 | 1;
} | {
    readonly low: number;
    readonly high: number;
};
/** What a device sends about one play. */
export type Answer = Content & {
    readonly v: 2;
    readonly type: "answer" | "segmented_answer";
    readonly experiment: string;
    readonly voter: string;
    readonly arm: number;
    readonly number: number;
    /** The snapshot from whose asked arms `arm` was drawn. */
    readonly seen: number;
};
/** A signed message. */
export interface Envelope {
    readonly message: Answer;
    readonly signature: string;
}
interface Fields {
    readonly [name: string]: string | number;
}
/** The line of words that is signed. */
export declare const line: (message: Fields, scope: Scope) => string;
/** A fresh key, and the voter it is known as. */
export declare const makeKey: () => Promise<{
    key: CryptoKey;
    voter: string;
}>;
export declare const sign: (key: CryptoKey, message: Fields, scope: Scope) => Promise<string>;
/** Whether `voter` signed it. Only for a key of one's own: it does not look for those of small order. */
export declare const isSigned: (voter: string, message: Fields, signature: string, scope: Scope) => Promise<boolean>;
export {};
