/**
 * A device without its network: its record in the store, and the clock by which a question closes and
 * its answer leaves. While the page is open the clock is one that never jumps.
 */
import { DevoteError } from "./errors.js";
import { ask, isOpen, isWithdrawn, replyAfter, resume, reward, takeSegment, type Play, type State } from "./state.js";
import { admit, type Limits } from "./limits.js";
import type { Store } from "./store.js";

type Step<T> = (state: State, save: () => void) => T;

export class Core {
  /** What the store holds, as far as this page has seen; null before the first join. */
  state: State | null = null;
  trouble: DevoteError | null = null;
  readonly #store: Store;
  readonly #url: string;
  /** The play whose moments these are. */
  #timed: string | null = null;
  #closes = 0;
  #leaves = 0;
  /** The play that this page was the first to hand out, until the page is left. */
  #own: string | null = null;

  constructor(store: Store, url: string) {
    this.#store = store;
    this.#url = url;
  }

  /** Look into the store for what this or another page has left there. */
  async load(): Promise<State | null> {
    this.state = (await this.#store.read(this.#url)) ?? null;
    return this.state && this.step(() => this.state);
  }

  async begin(state: State): Promise<void> {
    await this.#store.write(state);
    this.state = state;
  }

  /** Change the record; what is due by the clock is done first. On disk when this returns. */
  async step<T>(step: Step<T>): Promise<T> {
    const [result, state] = await this.#store.step(this.#url, (state, save): [T, State] => {
      this.#catchUp(state, save);
      return [step(state, save), state];
    });
    this.state = state;
    return result;
  }

  /** The same for a step that always changes something. */
  change(step: (state: State) => void): Promise<void> {
    return this.step((state, save) => {
      step(state);
      save();
    });
  }

  /** Enter the survey among those of this origin, before it is joined; see `limits.ts`. */
  admit(limits: Limits): Promise<number | undefined> {
    return this.#store.stepAmong(this.#url, (state, others) => admit(state, others, limits));
  }

  /** Whether this page was the first to hand out the play, and was not left since. */
  isOwn(id: string): boolean {
    return id === this.#own;
  }

  /** The page is left. */
  leave(): void {
    this.#own = null;
  }

  /** The open question; or a new one, if one may be asked and it is not too late. */
  async ask(
    segment: string | undefined, isLate: () => boolean, endsWithPage: boolean,
  ): Promise<{ play: Play; isNew: boolean } | null> {
    return this.step((state, save) => {
      const { play } = state;
      if (takeSegment(state, segment)) save();
      if (isLate() || (play !== null && isWithdrawn(state, play))) return null;
      if (play !== null && isOpen(play) && (!play.endsWithPage || this.isOwn(play.id))) {
        if (!play.shared) save();
        play.shared = true;
        return { play, isNew: false };
      }
      const asked = ask(state, Date.now(), endsWithPage);
      if (asked === null) return null;
      this.#own = asked.id;
      this.#time(asked, replyAfter(state), asked.leavesAt - asked.askedAt);
      save();
      return { play: asked, isNew: true };
    });
  }

  /** Take a question back that was not shown, unless another page shows it. */
  async withdraw(play: Play): Promise<void> {
    await this.step((state, save) => {
      if (state.play?.id !== play.id || state.play.shared) return;
      state.play = null;
      save();
    });
  }

  /** Whether an answer is to leave now. */
  get isDue(): boolean {
    if (this.state === null) return false;
    const { play, outbox } = this.state;
    return outbox.length > 0 || (play !== null && !isOpen(play) && performance.now() >= this.#leaves);
  }

  /** When the question closes or its answer leaves, whichever comes next. */
  get nextMoment(): number {
    const play = this.state?.play;
    return play ? (isOpen(play) ? this.#closes : this.#leaves) : Infinity;
  }

  /** Seconds until the answer leaves, whether it is made already or not. */
  get leavesIn(): number | null {
    return this.state?.play ? Math.max(0, this.#leaves - performance.now()) / 1000 : null;
  }

  close(): void {
    this.#store.close();
  }

  #time(play: Play, closes: number, leaves: number): void {
    const now = performance.now();
    [this.#timed, this.#closes, this.#leaves] = [play.id, now + closes, now + leaves];
  }

  #catchUp(state: State, save: () => void): void {
    const { play } = state;
    if (play === null) return;
    if (play.id !== this.#timed) {
      const { closes, leaves, isSetBack } = resume(state, play, Date.now());
      this.#time(play, closes, leaves);
      if (isSetBack) {
        this.trouble = new DevoteError("clock", "The clock was set back, so the answer waits anew.");
        save();
      }
    }
    if (isOpen(play) && performance.now() >= this.#closes) {
      reward(state, play, 0);
      save();
    }
  }
}
