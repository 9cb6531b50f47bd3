/**
 * An OpenFeature provider for web pages: a flag is a survey, a variant an arm, a tracked event a reward.
 *
 *   const provider = new DevoteProvider("https://devote.example", { flags: { banner: { rewards: { click: 1 } } } });
 *   await OpenFeature.setProviderAndWait(provider);
 *   const shop = OpenFeature.getClient();
 *   banner.textContent = shop.getStringValue("banner", "spring");
 *   banner.onclick = () => shop.track("click");
 *
 * The browser is the device, whatever the targeting key. Evaluations of the web SDK are synchronous, so every flag
 * is asked about when the provider starts: name those that the page shows. Nothing of the context leaves the browser.
 */
import {
  ErrorCode, FlagNotFoundError, GeneralError, OpenFeatureEventEmitter, ProviderEvents, ProviderFatalError,
  StandardResolutionReasons, TypeMismatchError, type EvaluationContext, type JsonValue, type Provider,
  type ResolutionDetails, type TrackingEventDetails,
} from "@openfeature/web-sdk";
import { join, type Choice, type Code, type Device, type Options, type Visitor } from "devote";

/** What a flag's events and arms mean. */
export interface Flag {
  /** The reward, from 0 to 1, of each event that is one; an event's own value is used instead if it lies there. */
  readonly rewards?: Readonly<Record<string, number>>;
  /** The value of an arm: without it the arm's name, which is read as JSON for flags that are no strings. */
  readonly values?: Readonly<Record<string, JsonValue>>;
  /** How this one is joined, beside what is said for all. */
  readonly join?: Partial<Options>;
}

/** The flags of a page, and how their surveys are joined. */
export interface Settings extends Partial<Omit<Options, "fallback">> {
  readonly flags: Readonly<Record<string, Flag>>;
  /** The attribute of the evaluation context that is the visitor's segment. */
  readonly segment?: string;
}

interface Shown {
  readonly device: Device;
  readonly choice: Choice;
}

/** A fallback that no arm is named: then the SDK's caller gets its own default value. */
const NOTHING = "";

/** Why a server will never do, and why it may do later. */
const FATAL: readonly Code[] = ["server", "version", "origin", "unsupported"];
const AWAY: readonly Code[] = ["offline", "busy"];

export class DevoteProvider implements Provider {
  readonly metadata = { name: "devote" };
  readonly runsOn = "client";
  readonly events = new OpenFeatureEventEmitter();
  readonly #server: string;
  readonly #settings: Settings;
  readonly #shown = new Map<string, Shown>();
  #isStale = false;
  #storing: Promise<unknown> = Promise.resolve();

  constructor(server: string, settings: Settings) {
    this.#server = server.replace(/\/+$/, "");
    this.#settings = settings;
  }

  /** Join the surveys, and ask each what to show, for no longer than `within`. */
  async initialize(context: EvaluationContext = {}): Promise<void> {
    const { flags, segment: _, ...common } = this.#settings;
    await Promise.all(Object.entries(flags).map(async ([flag, { join: own }]) => {
      const url = `${this.#server}/experiments/${encodeURIComponent(flag)}`;
      const device = join(url, { ...common, ...own, fallback: NOTHING });
      this.#shown.set(flag, { device, choice: await device.choose(this.#visitor(context)) });
    }));
    const troubles = [...this.#shown.values()].map(({ device }) => device.status()).filter(({ joined }) => !joined);
    const [first] = troubles;
    const are = (codes: readonly Code[]): boolean =>
      troubles.length === this.#shown.size && troubles.every(({ trouble }) => trouble !== null && codes.includes(trouble.code));
    if (first?.trouble && are(FATAL)) throw new ProviderFatalError(first.trouble.message);
    if (first?.trouble && are(AWAY)) throw new GeneralError(first.trouble.message);
  }

  /** Another segment shows another arm, where it is known; the questions stay. */
  async onContextChange(_: EvaluationContext, context: EvaluationContext): Promise<void> {
    await Promise.all([...this.#shown].map(async ([flag, { device }]) =>
      this.#shown.set(flag, { device, choice: await device.choose(this.#visitor(context)) })));
  }

  /** Stop; what waits is kept, and sent on the next visit. */
  async onClose(): Promise<void> {
    await this.#storing;
    for (const { device } of this.#shown.values()) device.close();
    this.#shown.clear();
  }

  /** Resolves when the events tracked so far are in the browser's store: wait for it before a link is followed. */
  whenStored(): Promise<unknown> {
    return this.#storing;
  }

  /** Reward the question of each flag of which this event is a reward; a second one, or a late one, counts nothing. */
  track(name: string, _context?: EvaluationContext, details?: TrackingEventDetails): void {
    for (const [flag, { rewards = {} }] of Object.entries(this.#settings.flags)) {
      const shown = this.#shown.get(flag);
      if (shown === undefined || !(name in rewards)) continue;
      const value = details?.value;
      const isReward = typeof value === "number" && value >= 0 && value <= 1;
      const stored = shown.device.reward(isReward ? value : rewards[name]!, shown.choice).catch(() => undefined);
      this.#storing = Promise.all([this.#storing, stored]);
    }
  }

  resolveBooleanEvaluation(flag: string, standard: boolean): ResolutionDetails<boolean> {
    return this.#resolve(flag, standard, (value) => typeof value === "boolean");
  }

  resolveStringEvaluation(flag: string, standard: string): ResolutionDetails<string> {
    return this.#resolve(flag, standard, (value) => typeof value === "string", true);
  }

  resolveNumberEvaluation(flag: string, standard: number): ResolutionDetails<number> {
    return this.#resolve(flag, standard, (value) => typeof value === "number");
  }

  resolveObjectEvaluation<T extends JsonValue>(flag: string, standard: T): ResolutionDetails<T> {
    return this.#resolve(flag, standard, (value) => typeof value === "object" && value !== null);
  }

  #visitor(context: EvaluationContext): Visitor {
    const segment = this.#settings.segment && context[this.#settings.segment];
    return typeof segment === "string" ? { segment } : {};
  }

  #resolve<T extends JsonValue>(
    flag: string, standard: T, fits: (value: JsonValue) => boolean, isText = false,
  ): ResolutionDetails<T> {
    const shown = this.#shown.get(flag);
    if (shown === undefined) throw new FlagNotFoundError(`${flag} is not among the flags of this page.`);
    const { device, choice } = shown;
    const { joined, best, trouble } = device.status();
    this.#note(trouble !== null && AWAY.includes(trouble.code));
    if (trouble?.code === "unknown") throw new FlagNotFoundError(trouble.message);
    if (choice.name === NOTHING || trouble?.code === "segment") {
      const code = trouble === null || AWAY.includes(trouble.code) ? ErrorCode.PROVIDER_NOT_READY : ErrorCode.GENERAL;
      const errorMessage = trouble?.message ?? (joined ? "No arm was known in time." : "The survey was not joined in time.");
      return { value: standard, reason: StandardResolutionReasons.ERROR, errorCode: code, errorMessage };
    }
    const value = this.#value(flag, choice.name, isText);
    if (!fits(value)) throw new TypeMismatchError(`The arm ${choice.name} of ${flag} is of another type.`);
    return {
      value: value as T,
      variant: choice.name,
      reason: best === choice.name ? StandardResolutionReasons.STATIC : StandardResolutionReasons.SPLIT,
      flagMetadata: { experiment: flag, play: choice.play ?? "" },
    };
  }

  #value(flag: string, arm: string, isText: boolean): JsonValue {
    const { values = {} } = this.#settings.flags[flag]!;
    if (Object.hasOwn(values, arm)) return values[arm]!;
    if (isText) return arm;
    try {
      return JSON.parse(arm) as JsonValue;
    } catch {
      return arm;
    }
  }

  /** Emit an event if the server has gone away, or has come back. */
  #note(isAway: boolean): void {
    if (isAway === this.#isStale) return;
    this.#isStale = isAway;
    const message = isAway ? "The server does not answer." : "The server answers again.";
    this.events.emit(isAway ? ProviderEvents.Stale : ProviderEvents.Ready, { message });
  }
}
