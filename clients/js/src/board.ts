/** The server's routes for a device. Requests carry no cookies, no referrer and no names of answers. */
import { fingerprint, type Json } from "./canonical.js";
import { DevoteError } from "./errors.js";
import { VERSION, type Envelope, type Scope } from "./signing.js";

/** Milliseconds for which an answer is waited for. */
export const PATIENCE = 10_000;

/** Seconds for which a server can ask to be left alone: a broken one must not silence browsers for good. */
const LONGEST_WAIT = 3_600;

/** Seconds: what a page does with a reward must be over long before its answer leaves. */
const SHORTEST_REPLY = 1;

/** The largest whole number on the wire. */
const MOST = 2 ** 53;

const PRIVATE: RequestInit = {
  credentials: "omit",
  cache: "no-store",
  redirect: "error",
  referrerPolicy: "no-referrer",
};

/** A survey as its server describes it. */
export interface Survey extends Scope {
  readonly name: string;
  readonly arms: readonly string[];
  /** The e of local differential privacy; null for none. */
  readonly privacy: number | null;
  readonly answers: number;
  /** Seconds. */
  readonly replyAfter: number;
  readonly byInvite: boolean;
}

/**
 * What a device is told of the count: the arms that may still be the answer, by index and the likeliest
 * first; those among which a device draws; and a number of what was read, which its answer repeats.
 */
export interface Told {
  readonly status: "open" | "agreed";
  readonly shared: readonly number[];
  readonly answer: readonly number[];
  readonly asked: readonly number[];
  readonly snapshot: number;
}

export type Outcome = "accepted" | "duplicate" | "refused";

/** A server's answer; nothing in it is trusted. */
type Fields = { readonly [name: string]: any };

const isName = (text: unknown): text is string => typeof text === "string" && text.length > 0;

const positive = (x: unknown): x is number => typeof x === "number" && Number.isFinite(x) && x > 0;

const nonsense = (url: string): DevoteError =>
  new DevoteError("server", `${url} does not answer as a devote server does. Check the address.`);

const retryAfter = (headers: Headers): number | null =>
  Math.min(Math.max(Number(headers.get("Retry-After")) || 0, 0), LONGEST_WAIT) || null;

/** What a page accepts: at most this e of local differential privacy, and only this specification. */
export interface Pins {
  readonly privacy?: number;
  readonly fingerprint?: string;
}

/** Refuse a survey that is weaker than the page accepts, or is another one. */
export const checkPins = ({ privacy, fingerprint: print }: Pins, survey: Survey): void => {
  const offered = survey.privacy === null ? "no privacy" : `privacy ${survey.privacy}`;
  if (privacy !== undefined && !(survey.privacy !== null && survey.privacy <= privacy))
    throw new DevoteError("pinned", `${survey.name} offers ${offered}, and this page accepts at most ${privacy}. Nothing was sent.`);
  if (print !== undefined && survey.fingerprint !== print)
    throw new DevoteError("pinned", `${survey.name} has the specification ${survey.fingerprint}, and this page accepts only ${print}.`);
};

/** One experiment at its address. */
export class Board {
  constructor(readonly url: string) {}

  /** The survey, with a fingerprint that was worked out here. */
  async survey(): Promise<Survey> {
    const told = await this.#ask("").catch((error) => this.#whyNot(error));
    const spec = told.spec as Fields;
    if (!spec?.scheme || !isName(spec.name) || !/^[0-9a-f]{32}$/.test(told.board)) throw nonsense(this.url);
    if (spec.scheme.name !== "survey")
      throw new DevoteError(
        "scheme",
        `This client speaks survey; ${spec.name} has the scheme ${spec.scheme.name}. Open it with scheme = "survey".`,
      );
    const print = await fingerprint(spec as Json);
    const { privacy, answers, reply_after: replyAfter } = spec.scheme;
    const isNoiseless = privacy === "none";
    const isRight = Array.isArray(spec.arms) && spec.arms.length > 1 && spec.arms.every(isName)
      && (isNoiseless || positive(privacy)) && Number.isInteger(answers) && answers > 0
      && positive(replyAfter) && replyAfter >= SHORTEST_REPLY;
    if (print !== told.fingerprint || !isRight) throw nonsense(this.url);
    return {
      board: told.board, fingerprint: print, name: spec.name, arms: spec.arms, answers, replyAfter,
      privacy: isNoiseless ? null : privacy, byInvite: told.enrolment !== "open",
    };
  }

  async enrol(voter: string, signature: string, invite: string | null): Promise<Outcome> {
    const request = invite === null ? { voter, signature } : { voter, signature, invite };
    return this.#outcome(await this.#ask("/enrolments", request));
  }

  /** What the board holds of a voter. */
  async saidBy(voter: string): Promise<Envelope[]> {
    const told = await this.#ask(`/messages?voter=${voter}`);
    if (!Array.isArray(told.messages)) throw nonsense(this.url);
    return told.messages;
  }

  async tally(scope: Scope, arms: number): Promise<{ number: number; told: Told }> {
    const { board, fingerprint: print, number, tally } = await this.#ask("/tally");
    if (board !== scope.board || print !== scope.fingerprint)
      throw new DevoteError("changed", `Another experiment answers at ${this.url}; nothing is sent to it. Give it another name.`);
    const { status, shared, answer, asked, snapshot } = (tally ?? {}) as Fields;
    const areArms = (list: unknown): list is number[] =>
      Array.isArray(list) && list.every((arm) => Number.isInteger(arm) && arm >= 0 && arm < arms)
      && list.length > 0 && new Set(list).size === list.length;
    const isRight = areArms(shared) && areArms(answer) && areArms(asked)
      && `${[...shared].sort()}` === `${[...answer].sort()}` && asked.every((arm) => shared.includes(arm))
      && Number.isInteger(number) && Number.isInteger(snapshot) && snapshot >= 0 && snapshot <= MOST
      && status === (shared.length > 1 ? "open" : "agreed");
    if (!isRight) throw nonsense(this.url);
    return { number, told: { status, shared, answer, asked, snapshot } };
  }

  async post(envelope: Envelope): Promise<Outcome> {
    return this.#outcome(await this.#ask("/messages", envelope));
  }

  #outcome(told: Fields): Outcome {
    if (!["accepted", "duplicate", "refused"].includes(told.outcome)) throw nonsense(this.url);
    return told.outcome;
  }

  async #ask(path: string, body?: object): Promise<Fields> {
    const posted = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
    let answer: Response, told: Fields;
    try {
      answer = await fetch(this.url + path, { ...PRIVATE, ...posted, signal: AbortSignal.timeout(PATIENCE) });
      told = await answer.json().catch((error) => {
        if (error instanceof SyntaxError) return null;
        throw error; // cut off
      });
    } catch {
      throw new DevoteError("offline", `${this.url} does not answer. It is tried again.`);
    }
    const version = answer.headers.get("Devote-Version");
    if (version !== null && version !== `${VERSION}`)
      throw new DevoteError("version", `${this.url} speaks version ${version}, this client ${VERSION}. Upgrade the older one.`);
    if (version === null || typeof told !== "object" || told === null) throw nonsense(this.url);
    if (answer.ok || (answer.status === 403 && told.outcome === "refused")) return told;
    if (answer.status === 429 || answer.status === 503)
      throw new DevoteError("busy", `${this.url} is busy. It is tried again.`, retryAfter(answer.headers));
    throw new DevoteError("server", `${this.url} answered ${answer.status}: ${`${told.error}`.split("\n")[0]}`);
  }

  /** A browser does not say why it hands out no answer: ask for one that need not be read. */
  async #whyNot(error: unknown): Promise<never> {
    if (!(error instanceof DevoteError) || error.code !== "offline") throw error;
    await fetch(this.url, { ...PRIVATE, redirect: "follow", mode: "no-cors", signal: AbortSignal.timeout(PATIENCE) }).catch(() => {
      throw error;
    });
    throw new DevoteError(
      "origin", `${this.url} answers, but not to pages of ${location.origin}. Start it with --allow-origin ${location.origin}.`,
    );
  }
}
