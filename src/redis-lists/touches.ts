import { maxTries } from "../base/tries.js";
import { BoundedMap } from "../base/bounded-map.js";
import { announcement, type DescribedSession } from "./entries.js";
import type { OwnerLists, PutMode } from "./owner-lists.js";
import type { SessionDescriber } from "./session-describer.js";

/** Debounce of touches of a session by one process, in milliseconds. */
const interval = 1_000;
/** Maximum backoff after a failed touch, in milliseconds. */
const longestPause = 30_000;
/** Share of the time to live after which an announcement is repeated, so that the entry does not expire early. */
const shareOfTtl = 0.1;
const capacity = 10_000;
/** Grace period of announced but missing sessions, in milliseconds: longer than any write. */
export const announcedGraceMs = 60_000;

/** Mode of an entry's update. */
type TouchMode = Exclude<PutMode, "announce">;

/** A pending update of a session's entry. */
interface Touch {
  readonly owner: string;
  readonly sessionId: string;
  /** The stamp of this process's last announcement; undefined if that replaced another process's. */
  stamp: string | undefined;
  /** Writes under way: their announcement stays, although the session may not be there yet. */
  writes: number;
  /** Number of writes that have begun. */
  begun: number;
  mode: TouchMode;
  /** Resolves when the last announcement has ended; never rejects. */
  announced: Promise<void>;
  /** True if the session was written since the last update began. */
  isDue: boolean;
  failures: number;
  running: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Updates owners' lists asynchronously after this process's writes (debounced write-behind).
 *
 * A session that is new to this process is announced before its first write, in the same tick; a process that is killed
 * afterwards leaves an entry that readers verify. After a write the session is read and its entry written: at once, or
 * a second after the last update. Failed updates are retried for the life of the process.
 */
export class ListTouches {
  readonly #index: OwnerLists;
  readonly #describer: SessionDescriber;
  readonly #touches = new Map<string, Touch>();
  /** When a session was last announced or touched. */
  readonly #seen = new BoundedMap<string, number>(capacity);
  readonly #owners: ReadonlyMap<string, string>;
  /** The mark of each owner's last erasure. */
  readonly #marks = new BoundedMap<string, string>(capacity);

  /** `owners` holds those of sessions, from replies. */
  constructor(index: OwnerLists, describer: SessionDescriber, owners: ReadonlyMap<string, string> = new Map()) {
    this.#index = index;
    this.#describer = describer;
    this.#owners = owners;
  }

  /** The cached owner, or `""`. */
  ownerOf(sessionId: string): string {
    return this.#owners.get(sessionId) ?? "";
  }

  /** Before a write with an owner: announces the session if it is new to this process. Never fails. */
  announce(sessionId: string, owner: string, ttlMs: number | undefined): void {
    const key = keyOf(owner, sessionId);
    const age = Date.now() - (this.#seen.get(key) ?? -Infinity);
    if (age < (ttlMs === undefined ? Infinity : Math.max(interval, shareOfTtl * ttlMs))) {
      return;
    }
    this.announceNow(sessionId, owner, ttlMs).catch(() => undefined);
  }

  /** Announces the session unconditionally, and resolves when the entry is written. */
  async announceNow(sessionId: string, owner: string, ttlMs: number | undefined): Promise<void> {
    const key = keyOf(owner, sessionId);
    this.#seen.set(key, Date.now());
    const entry = announcement(sessionId, ttlMs === undefined ? undefined : Date.now() + ttlMs);
    const touch = this.#touchOf(sessionId, owner);
    const sending = this.#index.announce(owner, entry, touch.stamp);
    touch.announced = sending.then(
      (stamp) => void (touch.stamp = stamp),
      () => void this.#seen.delete(key),
    );
    await sending;
  }

  /** Call before announcing a write; call the returned function when the write has ended, before `touch`. */
  begin(sessionId: string, owner: string | undefined): () => void {
    if (owner === undefined) {
      return () => undefined;
    }
    const touch = this.#touchOf(sessionId, owner);
    touch.writes += 1;
    touch.begun += 1;
    return () => void (touch.writes -= 1);
  }

  /**
   * Call after a write, also a failed one: schedules the update of the entry, placed by `mode`. No-op without an owner.
   */
  touch(
    sessionId: string,
    { owner = this.#owners.get(sessionId), mode }: { readonly owner: string | undefined; readonly mode: TouchMode },
  ): void {
    if (owner === undefined) {
      return;
    }
    const touch = this.#touchOf(sessionId, owner);
    touch.mode = stronger(mode, touch.mode);
    touch.isDue = true;
    if (touch.running === undefined && touch.timer === undefined) {
      this.#start(touch);
    }
  }

  /** Updates the entry now, without moving it. */
  async settle(sessionId: string, owner: string): Promise<void> {
    const touch = this.#touchOf(sessionId, owner);
    touch.isDue = true;
    await this.#sendNow(touch);
  }

  /** Sends pending updates, and resolves when lists show them. Failed ones are retried later. */
  async flush(): Promise<void> {
    const open = [...this.#touches.values()].filter(({ isDue, running }) => isDue || running !== undefined);
    await Promise.all(open.map((touch) => this.#sendNow(touch)));
  }

  /** Stops, and drops pending updates. */
  close(): void {
    this.#touches.forEach(({ timer }) => clearTimeout(timer));
    this.#touches.clear();
  }

  async #sendNow(touch: Touch): Promise<void> {
    await touch.running;
    if (touch.isDue && touch.running === undefined) {
      // The timer of a touch that is not due stays: it forgets the touch.
      clearTimeout(touch.timer);
      touch.timer = undefined;
      this.#start(touch);
    }
    await touch.running;
  }

  #start(touch: Touch): void {
    const mode = touch.mode;
    Object.assign(touch, { isDue: false, mode: "keep", timer: undefined });
    touch.running = this.#send(touch, mode).then(
      () => this.#after(touch, { failed: false }),
      () => {
        Object.assign(touch, { isDue: true, mode: stronger(mode, touch.mode) });
        this.#after(touch, { failed: true });
      },
    );
  }

  /** Schedules the next update, so that a busy session is touched once a second. */
  #after(touch: Touch, { failed }: { readonly failed: boolean }): void {
    touch.running = undefined;
    touch.failures = failed ? touch.failures + 1 : 0;
    const pause = Math.min(longestPause, interval * 2 ** touch.failures);
    touch.timer = setTimeout(() => {
      touch.timer = undefined;
      if (touch.isDue) {
        this.#start(touch);
      } else if (touch.writes === 0) {
        this.#touches.delete(keyOf(touch.owner, touch.sessionId));
      }
    }, pause);
    // Does not keep a process alive that exits without `drain` or `close`; its lists show older figures.
    touch.timer.unref();
  }

  async #send(touch: Touch, mode: TouchMode): Promise<void> {
    const { owner, sessionId } = touch;
    await touch.announced;
    for (let attempt = 1; attempt <= maxTries.lists; attempt += 1) {
      const described = await this.#describer.describeOf(owner, sessionId);
      if (described === "damaged") {
        return;
      }
      if (described === undefined) {
        this.#seen.delete(keyOf(owner, sessionId));
        return this.#unlist(touch);
      }
      if (await this.#put(owner, described, mode)) {
        this.#seen.set(keyOf(owner, sessionId), Date.now());
        return;
      }
    }
    throw new Error("The owner is being erased.");
  }

  /**
   * Removes a missing session from its owner's list.
   *
   * Reads the entry before the session, so that an entry written or announced in between is not removed, but checked
   * again. The entry stays during this process's writes, because an erasure of the owner finds new sessions by their
   * announcements. Each write checks the session afterwards.
   */
  async #unlist(touch: Touch): Promise<void> {
    const { owner, sessionId, writes, begun, stamp: own } = touch;
    let refused: string | undefined;
    for (let attempt = 1; attempt <= maxTries.lists; attempt += 1) {
      const stamp = await this.#index.stamp(owner, sessionId);
      const isKept = stamp === undefined || stamp === refused;
      if (isKept || (await this.#describer.describeOf(owner, sessionId)) !== undefined) {
        return;
      }
      const isWritten = writes > 0 || touch.begun > begun;
      const graceMs = stamp === own ? 0 : announcedGraceMs;
      if (isWritten || (await this.#index.drop(owner, [{ sessionId, stamp }], graceMs)) === 1) {
        return;
      }
      refused = stamp;
    }
  }

  /** False if the owner was erased since the last known mark: read the session again. */
  async #put(owner: string, described: DescribedSession, mode: PutMode): Promise<boolean> {
    const mark = await this.#index.put(owner, [described], { mode, mark: this.#marks.get(owner) });
    if (mark !== undefined) {
      this.#marks.set(owner, mark);
    }
    return mark === undefined;
  }

  #touchOf(sessionId: string, owner: string): Touch {
    const key = keyOf(owner, sessionId);
    const known = this.#touches.get(key);
    if (known !== undefined) {
      return known;
    }
    const rest = { isDue: false, writes: 0, begun: 0, failures: 0, running: undefined, timer: undefined };
    const touch: Touch = { owner, sessionId, mode: "keep", announced: Promise.resolve(), stamp: undefined, ...rest };
    this.#touches.set(key, touch);
    return touch;
  }
}

/** The stronger of two modes: moving to the front wins. */
function stronger(a: TouchMode, b: TouchMode): TouchMode {
  const order: readonly TouchMode[] = ["keep", "place", "front"];
  return order.indexOf(a) > order.indexOf(b) ? a : b;
}

function keyOf(owner: string, sessionId: string): string {
  return `${Buffer.byteLength(owner)} ${owner} ${sessionId}`;
}
