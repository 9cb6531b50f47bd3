/**
 * A visitor's browser as a device of a survey: `join`, `choose`, `reward`, `best` and `status`.
 *
 * Every call is a step in the browser's store; none but the first join waits for the network. Tabs share
 * the store. One at a time joins or sends: it holds a Web Lock. When an answer leaves is drawn with the
 * question, and `reward` neither sends nor wakes anything. With `leave: "send"` an answer leaves with its
 * page, if that is left earlier: it is signed beforehand, because a page that is left can wait for nothing.
 */
import { Board, checkPins, PATIENCE } from "./board.js";
import { Core } from "./core.js";
import { asDevoteError, DevoteError, type Code } from "./errors.js";
import { uniform } from "./noise.js";
import type { Limits } from "./limits.js";
import type { Envelope } from "./signing.js";
import { areWanted, hasWaiting, isOpen, kept, reward, standing, type Play, type State } from "./state.js";
import { Store } from "./store.js";
import { enrol, round, signed } from "./sync.js";

export interface Options extends Limits {
  /** The arm to show when nothing better is known in time. */
  readonly fallback: string;
  /** At most so many milliseconds pass before `choose` answers; 500 unless set. */
  readonly within?: number;
  /** An invite, or how to get one, which is asked for on the first visit only. */
  readonly invite?: string | (() => string | Promise<string>);
  /** The highest e of local differential privacy that the page accepts, for all that a browser ever sends. */
  readonly privacy?: number;
  /** The fingerprint of the only specification that the page accepts. */
  readonly fingerprint?: string;
  /**
   * `"send"`: when the page is left, its answer is sent at once, click or no click. For a click that leads to a
   * page without the client. When the page is left is then seen on the network.
   */
  readonly leave?: "send";
  /** Show the arm of the first question until the survey has settled or the arm is out, and ask once only. */
  readonly sticky?: boolean;
  /** `"required"`: nothing is stored or sent before `consent()` is called, on each page. */
  readonly consent?: "required";
}

/** Of whom a choice is. */
export interface Visitor {
  /** The kind of user, where the survey has segments: the same each time. It never leaves the browser. */
  readonly segment?: string;
}

/** What to show. */
export interface Choice {
  readonly name: string;
  /** Its index; null if the experiment is not known yet, or has no arm of the name. */
  readonly arm: number | null;
  /** The question that this is; null if it is none. */
  readonly play: string | null;
}

/** What became of a reward: only one for an open question counts, once and in time. */
export type Fate = "counted" | "closed" | "unasked";

export interface Status {
  readonly joined: boolean;
  /** Of the survey, by what was read last. */
  readonly state: "open" | "agreed";
  readonly arms: readonly string[];
  /** The arm that looks best, in the own segment if one was given; null before the first read. */
  readonly leader: string | null;
  /** The arm that the survey has settled on, for the own segment if there are any; null before that. */
  readonly best: string | null;
  /** How many answers of this browser the board has. */
  readonly sent: number;
  /** Seconds until an answer leaves; null if none is on its way. */
  readonly replyIn: number | null;
  /** What went wrong last; null if all is well. */
  readonly trouble: DevoteError | null;
}

const WITHIN = 500;
const RETRIED: readonly Code[] = ["offline", "busy", "server", "unknown", "refused"];
const LONGEST_TIMER = 2 ** 31 - 1;

/** Milliseconds before the first and at most before any other attempt after one that failed. */
const BASE = 1_000;
const CAP = 300_000;

/** Take part in the survey at `url`. Returns at once, and throws nothing: `status().trouble` tells. */
export const join = (url: string, options: Options): Device => new Device(url, options);

/**
 * Send what earlier pages of this origin have left, when it is due: for every page of a site, also those that
 * ask nothing. Throws nothing; gives the devices that have something to send.
 */
export const resume = async (): Promise<Device[]> => {
  try {
    const store = await Store.open();
    const waiting = (await store.all()).filter(hasWaiting);
    store.close();
    return waiting.map(({ url, survey: { fingerprint } }) => new Device(url, { fallback: "", fingerprint }));
  } catch {
    return []; // without a store nothing was left
  }
};

export class Device {
  readonly #url: string;
  readonly #board: Board;
  readonly #options: Options;
  readonly #tabs: BroadcastChannel | undefined;
  #core: Core | null = null;
  /** Why there is no store. */
  #noStore: DevoteError | null = null;
  /** What is wrong with the segment that was given last. */
  #misuse: DevoteError | null = null;
  /** The attempt to open the store and to join; it never fails. */
  #opening: Promise<void>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #retryAt = 0;
  #isClosed = false;
  /** What is sent if the page is left now; null while a reward is being stored. */
  #last: Envelope | null = null;
  readonly #leave = () => {
    const state = this.#core?.state;
    const isLate = state?.play?.number !== this.#last?.message.number;
    if (this.#last !== null && !isLate && areWanted(state!)) this.#board.postLast(this.#last);
    this.#last = null;
    this.#core?.leave();
  };
  readonly #online = () => {
    this.#retryAt = 0;
    void this.#tick();
  };

  /** @internal */
  constructor(url: string, options: Options) {
    this.#url = url.replace(/\/+$/, "");
    this.#board = new Board(this.#url);
    this.#options = options;
    this.#tabs = globalThis.BroadcastChannel && new BroadcastChannel(this.#name);
    if (this.#tabs) this.#tabs.onmessage = () => void this.#tick();
    globalThis.addEventListener?.("online", this.#online);
    if (options.leave === "send") globalThis.addEventListener?.("pagehide", this.#leave);
    if (options.consent === "required") {
      this.#noStore = new DevoteError("consent", "The visitor has not consented. Nothing is stored or sent before consent() is called.");
      this.#opening = Promise.resolve();
    } else this.#opening = this.#open();
  }

  /** The visitor has consented: take part, after `consent: "required"`. */
  consent(): Promise<void> {
    if (this.#noStore?.code === "consent") {
      this.#noStore = null;
      this.#opening = this.#open();
    }
    return this.#opening;
  }

  /** Resolves when the attempt to take part has ended, well or not. */
  get ready(): Promise<void> {
    return this.#opening;
  }

  /** What to show. Never fails, and answers within the time given. */
  choose({ segment }: Visitor = {}): Promise<Choice> {
    let isLate = false;
    const late = new Promise<Choice>((resolve) =>
      setTimeout(() => {
        isLate = true;
        resolve(this.#rest());
      }, this.#options.within ?? WITHIN),
    );
    const asked = this.#choose(segment, () => isLate).catch((error) => {
      if (error instanceof DevoteError && error.code === "segment") this.#misuse = error;
      else this.#failed(error);
      return this.#rest();
    });
    return Promise.race([asked, late]);
  }

  /** What a choice was worth, from 0 to 1. It makes one noisy bit and is forgotten. */
  async reward(x: number, choice: Choice): Promise<Fate> {
    if (typeof x !== "number" || !(x >= 0 && x <= 1))
      throw new DevoteError("reward", "A reward is a number from 0 to 1. Pass 1 for a click.");
    if (choice.play === null || this.#core === null) return "unasked";
    const core = this.#core, last = this.#last;
    const isOwn = core.isOwn(choice.play);
    this.#last = null;
    const fate = await core.step((state, save) => {
      const { play } = state;
      if (play === null || play.id !== choice.play || !isOpen(play)) return "closed";
      if (play.endsWithPage && !isOwn) return "closed";
      reward(state, play, x);
      save();
      return "counted";
    });
    const { play } = core.state!;
    this.#last = last && fate === "counted" && play?.content != null ? await signed(core.state!, play) : last;
    return fate;
  }

  /** The arm that the survey has settled on, for the own segment if there are any; null before that. */
  best(): string | null {
    return this.status().best;
  }

  /** How things stand, by what is known without waiting. */
  status(): Status {
    const state = this.#core?.state;
    const arms = state?.survey.arms ?? [];
    const own = state?.told ? standing(state) : null;
    const leader = own && arms[own.leader]!;
    return {
      joined: state?.enrolled ?? false,
      state: state?.told?.status ?? "open",
      arms,
      leader,
      best: own?.isDecided ? leader : null,
      sent: state?.sent.length ?? 0,
      replyIn: this.#core?.leavesIn ?? null,
      trouble: this.#misuse ?? this.#core?.trouble ?? this.#noStore,
    };
  }

  /** Stop. What waits is kept, and sent on the next visit. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    globalThis.removeEventListener?.("online", this.#online);
    globalThis.removeEventListener?.("pagehide", this.#leave);
    this.#tabs?.close();
    this.#core?.close();
  }

  get #name(): string {
    return `devote ${this.#url}`;
  }

  /** What to show where nothing is asked: the arm that leads, or the given one. */
  #rest(): Choice {
    const { arms, leader, best } = this.status();
    const state = this.#core?.state;
    const arm = this.#options.sticky && state && best === null ? kept(state) : null;
    const name = arm !== null ? arms[arm]! : leader ?? this.#options.fallback;
    return { name, arm: arms.includes(name) ? arms.indexOf(name) : null, play: null };
  }

  async #choose(segment: string | undefined, isLate: () => boolean): Promise<Choice> {
    await this.#opening;
    const core = this.#core;
    if (!core?.state?.enrolled) return this.#rest();
    checkPins(this.#options, core.state.survey);
    if (this.#options.sticky && core.state.given > 0) return this.#rest();
    const asked = await core.ask(segment, isLate, this.#options.leave === "send");
    this.#misuse = null;
    if (asked === null) return this.#rest();
    const { play, isNew } = asked;
    const last = isNew && play.endsWithPage ? await this.#unrewarded(core.state, play) : null;
    if (isNew && isLate()) {
      await core.withdraw(play); // the page shows something else by now
      return this.#rest();
    }
    if (isNew) {
      this.#tabs?.postMessage(null); // so that another tab sends it if this one is closed
      this.#last = last;
    }
    this.#schedule();
    return { name: core.state.survey.arms[play.shown]!, arm: play.shown, play: play.id };
  }

  /** The answer of a question whose reward does not come. */
  #unrewarded(state: State, play: Play): Promise<Envelope> {
    const closed = { ...play };
    reward(state, closed, 0);
    return signed(state, closed);
  }

  async #open(): Promise<void> {
    try {
      if (!globalThis.crypto?.subtle || !globalThis.navigator?.locks)
        throw new DevoteError("unsupported", "This page has no WebCrypto or no Web Locks. Serve it over https, to a newer browser.");
      this.#core ??= new Core(await Store.open(), this.#url);
      const core = this.#core;
      const state = await core.load();
      if (!state?.enrolled) await navigator.locks.request(this.#name, () => enrol(core, this.#board, this.#options, this.#invite));
      else if (state.told?.status !== "agreed") setTimeout(() => void this.#sync());
      this.#failures = this.#retryAt = 0;
    } catch (error) {
      this.#failed(error);
    }
    this.#schedule();
  }

  readonly #invite = async (): Promise<string | null> => {
    const { invite } = this.#options;
    if (invite == null) return null;
    const late = new Promise<null>((resolve) => setTimeout(() => resolve(null), PATIENCE));
    const given = typeof invite === "function" ? Promise.resolve().then(invite).catch(() => null) : invite;
    const text = await Promise.race([given, late]);
    if (typeof text === "string" && text !== "") return text;
    throw new DevoteError("invite", "No invite came. Pass `invite`, or a function that gives one.");
  };

  /** Read, and send what is due, unless another tab does. */
  async #sync(): Promise<void> {
    const core = this.#core!;
    try {
      const isMine = await navigator.locks.request(this.#name, { ifAvailable: true }, async (lock) => {
        if (lock !== null) await round(core, this.#board, this.#options, this.#invite);
        return lock !== null;
      });
      this.#failures = 0;
      this.#retryAt = isMine ? 0 : performance.now() + BASE;
      if (isMine && core.trouble?.code !== "clock") core.trouble = null;
    } catch (error) {
      this.#failed(error);
    }
    this.#schedule();
  }

  #failed(thrown: unknown): void {
    const error = asDevoteError(thrown);
    if (this.#core) this.#core.trouble = error;
    else this.#noStore = error;
    const wait = Math.min(CAP, BASE * 2 ** this.#failures++) * (0.5 + uniform() / 2);
    const isRetried = RETRIED.includes(error.code);
    this.#retryAt = isRetried ? performance.now() + Math.max(wait, 1000 * (error.retryAfter ?? 0)) : Infinity;
  }

  /** Wake when the question closes, when its answer leaves, and to try again what has failed. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const core = this.#core;
    if (this.#isClosed || core === null) return;
    const isWaiting = !core.state?.enrolled || core.isDue;
    const next = isWaiting ? this.#retryAt : Math.max(core.nextMoment, this.#retryAt);
    if (next === Infinity) return;
    this.#timer = setTimeout(() => void this.#tick(), Math.min(Math.max(0, next - performance.now()), LONGEST_TIMER));
  }

  async #tick(): Promise<void> {
    const core = this.#core;
    if (this.#isClosed || core === null) return;
    const mayTry = performance.now() >= this.#retryAt;
    if (!core.state?.enrolled && mayTry) return void (this.#opening = this.#open());
    try {
      if (core.state) await core.step(() => undefined); // which closes a question whose time is over
    } catch (error) {
      this.#failed(error);
    }
    if (core.isDue && mayTry) await this.#sync();
    else this.#schedule();
  }
}
