/** A JSON value spelt in bytes by five rules, and the fingerprint of a specification: docs/wire.md. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

const utf8 = new TextEncoder();

export const bytes = (text: string): Uint8Array<ArrayBuffer> => utf8.encode(text);

export const hex = (data: ArrayBuffer | Uint8Array): string =>
  Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, "0")).join("");

const double = (x: number): string => {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x + 0); // which makes -0 a 0
  return "#" + hex(view.buffer);
};

/** The canonical spelling; its bytes are those of this text in UTF-8. */
export const canonical = (value: Json): string => {
  if (value === null || typeof value === "boolean") return `${value}`;
  if (typeof value === "number") return double(value);
  if (typeof value === "string") return `${bytes(value).length}:${value}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join("")}]`;
  const fields = value as { readonly [name: string]: Json };
  return `{${Object.keys(fields).sort().map((name) => canonical(name) + canonical(fields[name]!)).join("")}}`;
};

export const sha256 = async (text: string): Promise<string> => hex(await crypto.subtle.digest("SHA-256", bytes(text)));

/** The SHA-256 of the canonical encoding. */
export const fingerprint = (spec: Json): Promise<string> => sha256(canonical(spec));
