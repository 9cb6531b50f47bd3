/** A JSON value spelt in bytes by five rules, and the fingerprint of a specification: docs/wire.md. */
export type Json = null | boolean | number | string | readonly Json[] | {
    readonly [name: string]: Json;
};
export declare const bytes: (text: string) => Uint8Array<ArrayBuffer>;
export declare const hex: (data: ArrayBuffer | Uint8Array) => string;
/** The canonical spelling; its bytes are those of this text in UTF-8. */
export declare const canonical: (value: Json) => string;
export declare const sha256: (text: string) => Promise<string>;
/** The SHA-256 of the canonical encoding. */
export declare const fingerprint: (spec: Json) => Promise<string>;
