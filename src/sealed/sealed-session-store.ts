import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/sealed-field.js";
import { optionalMembers } from "../store/capabilities.js";
import type { RecordSwaps } from "../store/record-swaps.js";
import { checkSessionId } from "../store/session-id-rules.js";
import type { SessionForks } from "../store/session-forks.js";
import type { SessionPages, StoredPage, StoredPageRequest } from "../store/session-pages.js";
import type { SessionAccess, SessionIndex } from "../store/lists.js";
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
import type { ExpiryExtension } from "../store/session-expiry.js";
import { shareLimits } from "../store/size-limits.js";
import type { TurnQueue } from "../store/holds.js";
import type { StoredTurn } from "../store/turns.js";
import { SealedForks } from "./sealed-forks.js";
import { sealedIndex } from "./sealed-index.js";
import { SealedTransfers } from "./sealed-transfers.js";
import { SealedSide } from "./sealed-side.js";
import { SealedWrites } from "./sealed-writes.js";
import { headField } from "./session-opener.js";

/** What a store that seals is made of, for what replaces sealed texts by others. */
const parts = new WeakMap<object, { readonly store: CompleteSessionStore; readonly ring: KeyRing }>();

/** The store underneath, and the keys; undefined for a store that does not seal. */
export function sealedParts(store: object) {
  return parts.get(store);
}

/**
 * A store whose records, heads and side fields lie encrypted in the store underneath. It has the capabilities of that
 * one, and the same contract; limits of sizes count what is stored, which is about a seventh longer.
 *
 * Every method throws EncryptionError `unknown_key` and `wrong_key`.
 */
export class SealedSessionStore implements CompleteSessionStore {
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
    this.#side = new SealedSide(this.#inner);
    this.index = sealedIndex(this.#inner.index, ring);
    this.turnQueue = this.#inner.turnQueue;
    this.pages = {
      readPage: (sessionId, request) => this.#readPage(sessionId, request),
      readStats: (sessionId, access) => this.#inner.pages.readStats(sessionId, access),
      readReductions: (sessionId, access) => this.#inner.pages.readReductions(sessionId, access),
    };
    this.forks = new SealedForks(this.#inner.forks, ring);
    this.recordSwaps = this.#inner.recordSwaps;
    this.transfers = new SealedTransfers(this.#inner, ring);
    parts.set(this, { store: this.#inner, ring });
    shareLimits(this, inner);
    // A capability that the other store lacks must not be recognized by a member of this class.
    for (const member of optionalMembers.filter((name) => inner[name] === undefined)) {
      Object.defineProperty(this, member, { value: undefined });
    }
  }

  async append(sessionId: string, request: AppendRequest): Promise<AppendResult> {
    return this.#session(sessionId).append(request, (sealed) => this.#inner.append(sessionId, sealed));
  }

  async replaceTail(sessionId: string, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    return this.#session(sessionId).append(request, (sealed) => this.#inner.replaceTail(sessionId, sealed));
  }

  async readView(sessionId: string, options?: ReadViewOptions): Promise<SessionView> {
    return this.#session(sessionId).opener.view(await this.#inner.readView(sessionId, options));
  }

  async readLog(sessionId: string, options?: ReadLogOptions): Promise<LogPage> {
    return this.#opened(sessionId, await this.#inner.readLog(sessionId, options));
  }

  async readRounds(sessionId: string, count: number, access?: SessionAccess): Promise<StoredRounds> {
    return this.#opened(sessionId, await this.#inner.readRounds(sessionId, count, access));
  }

  async readTurn(sessionId: string, name: string, access?: SessionAccess): Promise<StoredTurn | undefined> {
    const turn = await this.#inner.readTurn(sessionId, name, access);
    return turn && this.#opened(sessionId, turn);
  }

  async commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale"> {
    return this.#session(sessionId).send((keys, key) => {
      const plain = key === undefined || typeof request.head !== "string" || request.head === "";
      const head = plain ? request.head : sealField(key, headField, request.head);
      return this.#inner.commitReduction(sessionId, { ...request, head, keys });
    });
  }

  rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale"> {
    return this.#inner.rewind(sessionId, request);
  }

  clear(sessionId: string, access?: SessionAccess): Promise<void> {
    return this.#inner.clear(sessionId, access);
  }

  async rebuild(sessionId: string, identify: IdentifyRecord, access?: SessionAccess): Promise<void> {
    const { opener } = this.#session(sessionId);
    for (;;) {
      let missing: string | undefined;
      const identifySealed: IdentifyRecord = (record, position) => {
        const plain = opener.recordNow(record);
        if ("missing" in plain) {
          missing = plain.missing;
          throw new Error("A key has to be asked for.");
        }
        const identity = identify(plain.plain, position);
        const { key } = plain;
        return identity && key ? { ...identity, digest: key.digest(identity.digest), key: key.tag } : identity;
      };
      try {
        return await this.#inner.rebuild(sessionId, identifySealed, access);
      } catch (error) {
        if (missing === undefined) {
          throw error;
        }
        await opener.key(missing);
      }
    }
  }

  async readSide(
    sessionId: string,
    prefix: string,
    access: SessionAccess = {},
  ): Promise<Readonly<Record<string, string>>> {
    return this.#side.read(this.#session(sessionId), { sessionId, prefix, access });
  }

  async writeSide(sessionId: string, changes: SideWrite): Promise<boolean> {
    return this.#side.write(this.#session(sessionId), sessionId, changes);
  }

  acquireLease(sessionId: string, ttlMs: number): Promise<string | undefined> {
    return this.#inner.acquireLease(sessionId, ttlMs);
  }

  releaseLease(sessionId: string, token: string): Promise<void> {
    return this.#inner.releaseLease(sessionId, token);
  }

  extendExpiry(sessionId: string, request: ExpiryExtension): Promise<boolean> {
    return this.#inner.extendExpiry(sessionId, request);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #readPage(sessionId: string, request: StoredPageRequest): Promise<StoredPage | undefined> {
    const page = await this.#inner.pages.readPage(sessionId, request);
    return page && this.#session(sessionId).opener.view(page);
  }

  async #opened<Read extends { readonly records: readonly string[] }>(sessionId: string, read: Read): Promise<Read> {
    return { ...read, records: await this.#session(sessionId).opener.records(read.records) };
  }

  #session(sessionId: string): SealedWrites {
    checkSessionId(sessionId);
    return new SealedWrites(this.#ring, sessionId);
  }
}
