import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/sealed-field.js";
import { optionalMembers } from "../store/capabilities.js";
import type { RecordSwaps } from "../store/record-swaps.js";
import { checkSessionId } from "../store/session-id-rules.js";
import type { SessionForks } from "../store/session-forks.js";
import type { SessionPages, StoredPage, StoredPageRequest } from "../store/session-pages.js";
import type { SessionIndex } from "../store/lists.js";
import type { SessionRef } from "../store/session-ref.js";
import type { LogPage, ReadLogOptions, ReadViewOptions, SessionView, StoredRounds } from "../store/session-reads.js";
import type { CompleteSessionStore, SessionStore } from "../store/session-store.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "../store/session-writes.js";
import type { SessionTransfers } from "../store/session-transfers.js";
import type { SideWrite } from "../store/side-fields.js";
import type { SizeLimits } from "../store/size-limits.js";
import type { TurnQueue } from "../store/holds.js";
import type { StoredTurn } from "../store/turns.js";
import { SealedForks } from "./sealed-forks.js";
import { sealedIndex } from "./sealed-index.js";
import { SealedTransfers } from "./sealed-transfers.js";
import { SealedSide } from "./sealed-side.js";
import { SealedWrites } from "./sealed-writes.js";
import { rebuildSealed } from "./rebuild-sealed.js";
import { headField } from "./session-opener.js";

/** The store underneath, and the keys, for what replaces sealed texts; undefined for a store that does not seal. */
export function sealedParts(store: object) {
  return store instanceof SealedSessionStore ? store.parts() : undefined;
}

/**
 * A store whose records, heads and side fields lie encrypted in the store underneath. It has the capabilities of that
 * one, and the same contract; limits of sizes count what is stored, which is about a seventh longer.
 *
 * Every method throws EncryptionError `unknown_key` and `wrong_key`.
 */
export class SealedSessionStore implements CompleteSessionStore {
  readonly limits?: SizeLimits;
  readonly pages: SessionPages;
  readonly index: SessionIndex;
  readonly forks: SessionForks;
  readonly recordSwaps: RecordSwaps;
  readonly transfers: SessionTransfers;
  readonly turnQueue: TurnQueue;
  readonly #inner: CompleteSessionStore;
  readonly #ring: KeyRing;
  readonly #side: SealedSide;

  constructor(inner: SessionStore, ring: KeyRing) {
    this.#inner = inner as CompleteSessionStore;
    this.#ring = ring;
    if (inner.limits !== undefined) {
      this.limits = inner.limits;
    }
    this.#side = new SealedSide(this.#inner);
    this.index = sealedIndex(this.#inner.index, ring);
    this.turnQueue = this.#inner.turnQueue;
    this.pages = {
      readPage: (session, request) => this.#readPage(session, request),
      readStats: (session) => this.#inner.pages.readStats(session),
      readReductions: (session) => this.#inner.pages.readReductions(session),
    };
    this.forks = new SealedForks(this.#inner.forks, ring);
    this.recordSwaps = this.#inner.recordSwaps;
    this.transfers = new SealedTransfers(this.#inner, ring);
    // A capability that the other store lacks must not be recognized by a member of this class.
    for (const member of optionalMembers.filter((name) => inner[name] === undefined)) {
      Object.defineProperty(this, member, { value: undefined });
    }
  }

  /** The store underneath, and the keys. */
  parts() {
    return { store: this.#inner, ring: this.#ring };
  }

  async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    return this.#session(session).append(request, (caller, sealed) => this.#inner.append(caller, sealed));
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    return this.#session(session).append(request, (caller, sealed) => this.#inner.replaceTail(caller, sealed));
  }

  async readView(session: SessionRef, options?: ReadViewOptions): Promise<SessionView> {
    return this.#session(session).opener.view(await this.#inner.readView(session, options));
  }

  async readLog(session: SessionRef, options?: ReadLogOptions): Promise<LogPage> {
    return this.#opened(session, await this.#inner.readLog(session, options));
  }

  async readRounds(session: SessionRef, count: number): Promise<StoredRounds> {
    return this.#opened(session, await this.#inner.readRounds(session, count));
  }

  async readTurn(session: SessionRef, name: string): Promise<StoredTurn | undefined> {
    const turn = await this.#inner.readTurn(session, name);
    return turn && this.#opened(session, turn);
  }

  async commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale"> {
    return this.#session(session).send((caller, key) => {
      const plain = key === undefined || typeof request.head !== "string" || request.head === "";
      const head = plain ? request.head : sealField(key, headField, request.head);
      return this.#inner.commitReduction(caller, { ...request, head });
    });
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    return this.#session(session).send((caller) => this.#inner.rewind(caller, request));
  }

  clear(session: SessionRef): Promise<void> {
    return this.#inner.clear(session);
  }

  async rebuild(
    session: SessionRef,
    identify: IdentifyRecord,
    options?: {
      /** True to take the named owner where nothing says whose it is. @default false */ readonly assigns?: boolean;
    },
  ): Promise<void> {
    const { opener } = this.#session(session);
    return rebuildSealed({ store: this.#inner, opener, session, identify, options });
  }

  async readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>> {
    return this.#side.read(this.#session(session), prefix);
  }

  async writeSide(session: SessionRef, changes: SideWrite): Promise<boolean> {
    return this.#side.write(this.#session(session), changes);
  }

  acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined> {
    return this.#inner.acquireLease(session, ttlMs);
  }

  releaseLease(session: SessionRef, token: string): Promise<void> {
    return this.#inner.releaseLease(session, token);
  }

  extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean> {
    return this.#inner.extendExpiry(session, ttlMs);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined> {
    const page = await this.#inner.pages.readPage(session, request);
    return page && this.#session(session).opener.view(page);
  }

  async #opened<Read extends { readonly records: readonly string[] }>(session: SessionRef, read: Read): Promise<Read> {
    return { ...read, records: await this.#session(session).opener.records(read.records) };
  }

  #session(session: SessionRef): SealedWrites {
    checkSessionId(session.id);
    return new SealedWrites(this.#ring, session);
  }
}
