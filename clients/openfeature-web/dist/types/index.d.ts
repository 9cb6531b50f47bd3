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
import { OpenFeatureEventEmitter, type EvaluationContext, type JsonValue, type Provider, type ResolutionDetails, type TrackingEventDetails } from "@openfeature/web-sdk";
import { type Options } from "devote";
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
export declare class DevoteProvider implements Provider {
    #private;
    readonly metadata: {
        name: string;
    };
    readonly runsOn = "client";
    readonly events: OpenFeatureEventEmitter;
    constructor(server: string, settings: Settings);
    /** Join the surveys, and ask each what to show, for no longer than `within`. */
    initialize(context?: EvaluationContext): Promise<void>;
    /** Another segment shows another arm, where it is known; the questions stay. */
    onContextChange(_: EvaluationContext, context: EvaluationContext): Promise<void>;
    /** Stop; what waits is kept, and sent on the next visit. */
    onClose(): Promise<void>;
    /** Resolves when the events tracked so far are in the browser's store: wait for it before a link is followed. */
    whenStored(): Promise<unknown>;
    /** Reward the question of each flag of which this event is a reward; a second one, or a late one, counts nothing. */
    track(name: string, _context?: EvaluationContext, details?: TrackingEventDetails): void;
    resolveBooleanEvaluation(flag: string, standard: boolean): ResolutionDetails<boolean>;
    resolveStringEvaluation(flag: string, standard: string): ResolutionDetails<string>;
    resolveNumberEvaluation(flag: string, standard: number): ResolutionDetails<number>;
    resolveObjectEvaluation<T extends JsonValue>(flag: string, standard: T): ResolutionDetails<T>;
}
