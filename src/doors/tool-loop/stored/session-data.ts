import { maxTries } from "../../../base/tries.js";
import { ConflictError } from "../../../base/errors.js";
import type { ConversationSession } from "../../../memory/session/conversation-session.js";
import type { SideChanges } from "../../../store/contract/side-fields.js";
import type { SourceReference } from "./reference-manager.js";
import { readUpload, type Upload } from "./uploads.js";
import { valueIn } from "../../../conversation/messages/values.js";
import type { SessionStore } from "../../../store/contract/session-store.js";

/** The side data of a session. */
export interface StoredData {
  readonly uploads: readonly Upload[];
  readonly references: readonly SourceReference[];
}

/** The side data that a turn stores. */
export interface TurnData {
  readonly uploads: readonly Upload[];
  readonly removedUploads: readonly string[];
  readonly references: readonly SourceReference[];
}

const prefix = "history:";
const nextField = `${prefix}next-source`;
const uploadPrefix = `${prefix}upload:`;
const sourcePrefix = `${prefix}source:`;
/** The side data that a session's HistoryManagers share: uploads, sources, and the next source number. */
export class SessionData {
  readonly #session: ConversationSession;
  readonly #store: SessionStore;
  readonly #maxSources: number;
  #nextStored: string | undefined;

  constructor(session: ConversationSession, maxSources: number) {
    this.#session = session;
    this.#store = session.context.store;
    this.#maxSources = maxSources;
  }

  async read(): Promise<StoredData> {
    const side = await this.#store.data.readSide(this.#session.ref, prefix);
    this.#nextStored = side[nextField];
    const entries = Object.entries(side);
    const uploads = entries.flatMap(([name, value]) =>
      name.startsWith(uploadPrefix) ? (readUpload(value) ?? []) : [],
    );
    const references = entries.flatMap(([name, value]) =>
      name.startsWith(sourcePrefix) ? (readReference(value) ?? []) : [],
    );
    return { uploads: uploads.sort((a, b) => a.sequence - b.sequence), references };
  }

  /**
   * Reserves `count` source numbers, none below `least`, and returns the first. No other turn of the session gets them,
   * now or later. One round trip, unless another process reserves numbers at the same moment.
   */
  async reserveSources(count: number, least: number): Promise<number> {
    const { ttlMs } = this.#session.context;
    for (let attempt = 1; attempt <= maxTries.numbers; attempt += 1) {
      const first = Math.max(least, numberIn(this.#nextStored));
      const next = String(first + count);
      const written = await this.#store.data.writeSide(this.#session.ref, {
        set: { [nextField]: next },
        expected: { [nextField]: this.#nextStored },
        ...(ttlMs !== undefined && { ttlMs }),
      });
      if (written) {
        this.#nextStored = next;
        return first;
      }
      this.#nextStored = (await this.#store.data.readSide(this.#session.ref, nextField))[nextField];
    }
    throw new ConflictError(
      `Other processes reserved source numbers of this session during all ${maxTries.numbers} attempts; try again.`,
      { code: "stale", sessionId: this.#session.sessionId },
    );
  }

  /** Returns the changes of side data that store a turn's data and keep only the newest references. */
  changes({ uploads, removedUploads, references }: TurnData): SideChanges {
    const set = Object.fromEntries([
      ...uploads.map((upload) => [uploadPrefix + upload.id, JSON.stringify(upload)]),
      ...references.map((reference) => [fieldOf(reference), JSON.stringify(reference)]),
    ]) as Record<string, string>;
    return {
      set,
      ...(removedUploads.length > 0 && { remove: removedUploads.map((id) => uploadPrefix + id) }),
      ...(references.length > 0 && { bound: { prefix: sourcePrefix, keep: this.#maxSources } }),
    };
  }
}

/** Padded, so that names sort in the order of the numbers. */
function fieldOf({ sourceNumber }: SourceReference): string {
  return sourcePrefix + String(sourceNumber).padStart(12, "0");
}

function numberIn(stored: string | undefined): number {
  const value = Number(stored);
  return Number.isSafeInteger(value) && value > 0 ? value : 1;
}

function readReference(stored: string): SourceReference | undefined {
  const reference = valueIn(stored) as Partial<SourceReference> | null | undefined;
  const isWhole = Number.isSafeInteger(reference?.sourceNumber) && typeof reference?.chunk?.text === "string";
  return isWhole ? (reference as SourceReference) : undefined;
}
