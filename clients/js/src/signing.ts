/** Keys that cannot be read out, and what is signed with them: docs/wire.md. */
import { bytes, hex } from "./canonical.js";

export const VERSION = 2;

/** Where a signature is good: one board, one specification. */
export interface Scope {
  readonly board: string;
  readonly fingerprint: string;
}

/** What the noise makes of a reward: a bit; with segments, signs of some of them. */
export type Content = { readonly bit: 0 | 1 } | { readonly low: number; readonly high: number };

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
export const line = (message: Fields, scope: Scope): string => {
  const { v: _, type, ...fields } = message;
  const values = Object.keys(fields).sort().map((name) => fields[name]);
  return [`devote/${VERSION}`, type, scope.board, scope.fingerprint, ...values].join(" ");
};

/** A fresh key, and the voter it is known as. */
export const makeKey = async (): Promise<{ key: CryptoKey; voter: string }> => {
  const pair = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
  return { key: pair.privateKey, voter: hex(await crypto.subtle.exportKey("raw", pair.publicKey)) };
};

export const sign = async (key: CryptoKey, message: Fields, scope: Scope): Promise<string> =>
  hex(await crypto.subtle.sign("Ed25519", key, bytes(line(message, scope))));

const unhex = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** Whether `voter` signed it. Only for a key of one's own: it does not look for those of small order. */
export const isSigned = async (voter: string, message: Fields, signature: string, scope: Scope): Promise<boolean> => {
  if (!/^[0-9a-f]{128}$/.test(signature)) return false;
  const key = await crypto.subtle.importKey("raw", unhex(voter), "Ed25519", false, ["verify"]);
  return crypto.subtle.verify("Ed25519", key, unhex(signature), bytes(line(message, scope)));
};
