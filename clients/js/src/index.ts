/** A device of a devote survey in a web page; see docs/browser.md. */
export { join, resume, type Choice, type Device, type Fate, type Options, type Status, type Visitor } from "./device.js";
export { DevoteError, type Code } from "./errors.js";

/** For the test vectors, and whoever checks the wire; pages need none of it. */
export { canonical, fingerprint } from "./canonical.js";
export { blur, drawNoise, signedSubset, subsets, truths } from "./noise.js";
export { isSigned, line, sign } from "./signing.js";
