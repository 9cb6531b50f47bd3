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

const MOST_SEGMENTS = 64;

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
  /** The names of the kinds of users, none where all are of one kind. */
  readonly segments: readonly string[];
  /** How many segments an answer holds. */
  readonly subset: number;
}

/** How a segment stands: the arm that leads there, or has won. */
export interface Segment {
  readonly status: "open" | "agreed";
  readonly leader: number;
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
  readonly segments: readonly Segment[];
  /** Arms that the operator has withdrawn. */
  readonly withdrawn: readonly number[];
}

/** What a request to join is answered; `said` are own earlier answers. */
export interface Joined {
  readonly survey: Survey;
  readonly outcome: Outcome;
  /** Whether the board takes nothing, or nothing from this voter, whatever its invite. */
  readonly isBarred: boolean;
  readonly said: Envelope[];
  readonly number: number;
  readonly told: Told;
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
  readonly privacy?: number | undefined;
  readonly fingerprint?: string;
  /** What is left of the page's budget. */
  readonly left?: number | undefined;
}

/** Refuse a survey that is weaker than the page accepts, or is another one. */
export const checkPins = ({ privacy, fingerprint: print, left }: Pins, survey: Survey): void => {
  const offered = survey.privacy === null ? "no privacy" : `privacy ${survey.privacy}`;
  if (left !== undefined && !(survey.privacy !== null && survey.privacy <= left))
    throw new DevoteError("out", `${survey.name} offers ${offered}, and ${left} is left of this page's budget. This browser takes no part.`);
  if (privacy !== undefined && !(survey.privacy !== null && survey.privacy <= privacy))
    throw new DevoteError("pinned", `${survey.name} offers ${offered}, and this page accepts at most ${privacy}. This browser takes no part.`);
  if (print !== undefined && survey.fingerprint !== print)
    throw new DevoteError("pinned", `${survey.name} has the specification ${survey.fingerprint}, and this page accepts only ${print}.`);
};

/** One experiment at its address. */
export class Board {
  constructor(readonly url: string) {}

  /** The name of the experiment, as the address has it. */
  get name(): string {
    return this.url.slice(this.url.lastIndexOf("/") + 1);
  }

  /**
   * Ask for all that it takes to take part, and to be enrolled if the survey is as pinned: one request, with no
   * preflight. With a budget the survey is read before: how much is left would tell of other surveys.
   */
  async join(voter: string, signature: string, invite: string | null, pins: Pins): Promise<Joined> {
    const { privacy, fingerprint, left } = pins;
    if (left !== undefined) checkPins(pins, await this.#survey(await this.#ask("").catch((error) => this.#whyNot(error))));
    const asked = { v: VERSION, voter, signature, invite: invite ?? undefined, privacy, fingerprint };
    const told = await this.#ask("/join", asked, "text/plain").catch((error) => this.#whyNot(error));
    const survey = await this.#survey(told);
    checkPins(pins, survey);
    if (!["accepted", "duplicate", "refused"].includes(told.outcome) || !Array.isArray(told.messages)) throw nonsense(this.url);
    const { number, told: tally } = this.#told(told.tally ?? {}, survey);
    return { survey, outcome: told.outcome, isBarred: told.cause != null, said: told.messages, number, told: tally };
  }

  /** A survey, with a fingerprint that was worked out here. */
  async #survey(told: Fields): Promise<Survey> {
    const spec = told.spec as Fields;
    if (!spec?.scheme || !isName(spec.name) || !/^[0-9a-f]{32}$/.test(told.board)) throw nonsense(this.url);
    if (spec.scheme.name !== "survey")
      throw new DevoteError(
        "scheme",
        `This client speaks survey; ${spec.name} has the scheme ${spec.scheme.name}. Open it with scheme = "survey".`,
      );
    const print = await fingerprint(spec as Json);
    const { privacy, answers, reply_after: replyAfter, segments = [], subset = 1 } = spec.scheme;
    const isNoiseless = privacy === "none";
    const isRight = Array.isArray(spec.arms) && spec.arms.length > 1 && spec.arms.every(isName)
      && (isNoiseless || positive(privacy)) && Number.isInteger(answers) && answers > 0
      && positive(replyAfter) && replyAfter >= SHORTEST_REPLY
      && Array.isArray(segments) && segments.every(isName) && segments.length !== 1 && segments.length <= MOST_SEGMENTS
      && (segments.length === 0 || (answers === 1 && Number.isInteger(subset) && subset > 0 && subset < segments.length));
    if (print !== told.fingerprint || !isRight) throw nonsense(this.url);
    return {
      board: told.board, fingerprint: print, name: spec.name, arms: spec.arms, answers, replyAfter,
      privacy: isNoiseless ? null : privacy, byInvite: told.enrolment !== "open", segments, subset,
    };
  }

  /** What the board holds of a voter. */
  async saidBy(voter: string): Promise<Envelope[]> {
    const told = await this.#ask(`/messages?voter=${voter}`);
    if (!Array.isArray(told.messages)) throw nonsense(this.url);
    return told.messages;
  }

  async tally(survey: Survey): Promise<{ number: number; told: Told }> {
    return this.#told(await this.#ask("/tally"), survey);
  }

  #told({ board, fingerprint: print, number, tally }: Fields, scope: Survey): { number: number; told: Told } {
    const arms = scope.arms.length;
    if (board !== scope.board || print !== scope.fingerprint)
      throw new DevoteError("changed", `Another experiment answers at ${this.url}; nothing is sent to it. Give it another name.`);
    const { status, shared, answer, asked, snapshot, segments = [], withdrawn = [] } = (tally ?? {}) as Fields;
    const areArms = (list: unknown): list is number[] =>
      Array.isArray(list) && list.every((arm) => Number.isInteger(arm) && arm >= 0 && arm < arms)
      && list.length > 0 && new Set(list).size === list.length;
    const isRight = areArms(shared) && areArms(answer) && areArms(asked)
      && `${[...shared].sort()}` === `${[...answer].sort()}` && asked.every((arm) => shared.includes(arm))
      && Number.isInteger(number) && Number.isInteger(snapshot) && snapshot >= 0 && snapshot <= MOST
      && Array.isArray(withdrawn) && withdrawn.every((arm) => !shared.includes(arm))
      && Array.isArray(segments) && segments.length === scope.segments.length
      && segments.every((row) => (row?.status === "open" || row?.status === "agreed") && shared.includes(row.leader))
      && status === ((segments[0] ? segments.some((row) => row.status === "open") : shared.length > 1) ? "open" : "agreed");
    if (!isRight) throw nonsense(this.url);
    const rows = segments.map(({ status, leader }: Segment) => ({ status, leader }));
    return { number, told: { status, shared, answer, asked, snapshot, segments: rows, withdrawn } };
  }

  async post(envelope: Envelope): Promise<Outcome> {
    return this.#outcome(await this.#ask("/messages", envelope));
  }

  /** Post it from a page that is being left: nobody waits for what becomes of it. */
  postLast(envelope: Envelope): void {
    const posted = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(envelope) };
    fetch(`${this.url}/messages`, { ...PRIVATE, ...posted, keepalive: true }).catch(() => undefined);
  }

  #outcome(told: Fields): Outcome {
    if (!["accepted", "duplicate", "refused"].includes(told.outcome)) throw nonsense(this.url);
    return told.outcome;
  }

  async #ask(path: string, body?: object, type = "application/json"): Promise<Fields> {
    const posted = body && { method: "POST", headers: { "Content-Type": type }, body: JSON.stringify(body) };
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
    throw new DevoteError(answer.status === 404 ? "unknown" : "server", `${this.url} answered ${answer.status}: ${`${told.error}`.split("\n")[0]}`);
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
