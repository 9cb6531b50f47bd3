/** The browser's own store: one record per experiment, changed in one transaction or not at all. */
import { asDevoteError, DevoteError } from "./errors.js";
import type { State } from "./state.js";

/** Milliseconds for which the store is waited for: where it is blocked, some browsers never answer. */
const PATIENCE = 3_000;

const NAME = "devote";
const RECORDS = "experiments";

const hangs = () => new DevoteError("storage", "The browser's storage does not answer. Allow it for this site.");

export class Store {
  #db: IDBDatabase;

  private constructor(db: IDBDatabase) {
    this.#db = db;
    db.onversionchange = () => db.close();
  }

  static open(): Promise<Store> {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(hangs()), PATIENCE);
      try {
        const asked = indexedDB.open(NAME, 1);
        asked.onupgradeneeded = () => asked.result.createObjectStore(RECORDS, { keyPath: "url" });
        asked.onsuccess = () => resolve(new Store(asked.result));
        asked.onerror = () => reject(asDevoteError(asked.error));
      } catch (error) {
        reject(asDevoteError(error)); // some browsers throw where storage is blocked, or have no store
      }
    });
  }

  /** What is stored of an experiment. */
  read(url: string): Promise<State | undefined> {
    return this.#within("readonly", (records, done) => {
      records.get(url).onsuccess = (event) => done((event.target as IDBRequest<State | undefined>).result);
    });
  }

  /** What is stored of all experiments of this origin. */
  all(): Promise<State[]> {
    return this.#within("readonly", (records, done) => {
      records.getAll().onsuccess = (event) => done((event.target as IDBRequest<State[]>).result);
    });
  }

  /** Store a new record, or replace it. */
  write(state: State): Promise<void> {
    return this.#within("readwrite", (records) => records.put(state));
  }

  /** Make a step: `step` changes the record and says by `save` that it did. On disk when this returns. */
  step<T>(url: string, step: (state: State, save: () => void) => T): Promise<T> {
    return this.#within("readwrite", (records, done, fail) => {
      records.get(url).onsuccess = (event) => {
        const state = (event.target as IDBRequest<State | undefined>).result;
        try {
          if (!state) throw new DevoteError("storage", "The browser's storage was cleared. Load the page again.");
          let isChanged = false;
          done(step(state, () => (isChanged = true)));
          if (isChanged) records.put(state);
        } catch (error) {
          fail(error);
        }
      };
    });
  }

  /** The same for a step that looks at the other records of this origin too, and always changes its own. */
  stepAmong<T>(url: string, step: (state: State, others: State[]) => T): Promise<T> {
    return this.#within("readwrite", (records, done, fail) => {
      records.getAll().onsuccess = (event) => {
        const all = (event.target as IDBRequest<State[]>).result;
        const own = all.find((state) => state.url === url)!;
        try {
          done(step(own, all.filter((state) => state !== own)));
          records.put(own);
        } catch (error) {
          fail(error);
        }
      };
    });
  }

  close(): void {
    this.#db.close();
  }

  #within<T>(
    mode: IDBTransactionMode,
    work: (records: IDBObjectStore, done: (result: T) => void, fail: (error: unknown) => void) => unknown,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      try {
        const transaction = this.#db.transaction(RECORDS, mode, { durability: "strict" });
        let result: T, failure: unknown;
        transaction.oncomplete = () => resolve(result);
        transaction.onabort = () => reject(asDevoteError(failure ?? transaction.error));
        const fail = (error: unknown) => {
          failure = error;
          transaction.abort();
        };
        work(transaction.objectStore(RECORDS), (value) => (result = value), fail);
      } catch (error) {
        reject(asDevoteError(error));
      }
    });
  }
}
