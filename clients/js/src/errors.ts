/** What can go wrong, by a code that a page can act on. */
export type Code =
  | "unsupported" // this browser has no Ed25519 or no locks, or the page is not on https
  | "storage" // storage is blocked, as in some private windows, was cleared, or does not answer
  | "full" // the browser has no room left for this site
  | "scheme" // the experiment is not a survey
  | "invite" // an invite is needed and none was given, or it was used before
  | "origin" // the server is there, but does not let pages of this origin read its answers
  | "version" // the server speaks another version
  | "unknown" // the server has no experiment of the name
  | "server" // what answered is not a devote server
  | "offline" // nothing answered in time
  | "busy" // the server asked to be left alone for a while
  | "limits" // traffic or budget is no number that it can be
  | "out" // the page's traffic, exclusive group or budget leaves this browser out
  | "consent" // the page waits for its visitor's consent
  | "pinned" // the experiment is not one that the page accepts: less private, or another specification
  | "changed" // another experiment answers under the name
  | "refused" // the board refused what was sent
  | "clock" // the clock was set back; the wait was counted anew
  | "segment" // no segment of this survey, none where one is needed, or another one than before
  | "reward"; // a reward that is not a number from 0 to 1

/** An error of this client: `code` for programs, `message` for people. */
export class DevoteError extends Error {
  override readonly name = "DevoteError";

  constructor(
    readonly code: Code,
    message: string,
    /** Seconds after which the server asked to be tried again. */
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** Whatever was thrown, as an error of this client. */
export const asDevoteError = (thrown: unknown): DevoteError => {
  if (thrown instanceof DevoteError) return thrown;
  const name = thrown instanceof Error || thrown instanceof DOMException ? thrown.name : "unknown";
  if (name === "QuotaExceededError")
    return new DevoteError("full", "The browser has no room left for this site. Free some, or do without.");
  if (name === "NotSupportedError")
    return new DevoteError("unsupported", "This browser has no Ed25519 in WebCrypto. Use a newer one.");
  return new DevoteError("storage", `The browser's storage does not work here (${name}). Allow it for this site.`);
};
