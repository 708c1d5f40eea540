import type { BaseMessage } from "@langchain/core/messages";
import { ConflictError } from "../../errors.js";
import type { ConversationSession } from "../../memory/conversation-session.js";
import type { SideChanges } from "../../store/session-store.js";
import type { SourceReference } from "./reference-manager.js";
import { readUpload, writeUpload, type Upload } from "./uploads.js";

/** What a turn knows of the session: read once, when it begins. */
export interface Snapshot {
  readonly view: readonly BaseMessage[];
  /** In the order in which they came. */
  readonly uploads: readonly Upload[];
  readonly references: readonly SourceReference[];
}

/** What a turn leaves beside its messages. */
export interface TurnData {
  readonly uploads: readonly Upload[];
  /** Ids of uploads that were taken away. */
  readonly removedUploads: readonly string[];
  readonly references: readonly SourceReference[];
}

const prefix = "history:";
const nextField = `${prefix}next-source`;
const uploadPrefix = `${prefix}upload:`;
const sourcePrefix = `${prefix}source:`;
const attempts = 16;

/** The side data of a session that its HistoryManagers share: uploads, cited sources, and the next source number. */
export class SessionData {
  readonly #session: ConversationSession;
  readonly #maxSources: number;
  #nextStored: string | undefined;

  constructor(session: ConversationSession, maxSources: number) {
    this.#session = session;
    this.#maxSources = maxSources;
  }

  /** View and side data. Two commands, sent at once: the time of one round trip. */
  async read(): Promise<Snapshot> {
    const [view, side] = await Promise.all([this.#session.readView(), this.#readSide(prefix)]);
    this.#nextStored = side[nextField];
    const entries = Object.entries(side);
    const uploads = entries.flatMap(([name, value]) =>
      name.startsWith(uploadPrefix) ? (readUpload(value) ?? []) : [],
    );
    const references = entries.flatMap(([name, value]) =>
      name.startsWith(sourcePrefix) ? (readReference(value) ?? []) : [],
    );
    return { view, uploads: uploads.sort((a, b) => a.sequence - b.sequence), references };
  }

  /**
   * The first of `count` source numbers, none below `least`, that no other turn of the session gets, at the same time
   * or later. One round trip, unless another process takes numbers in the same moment.
   */
  async reserveSources(count: number, least: number): Promise<number> {
    const { store, ttlMs } = this.#session.context;
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const first = Math.max(least, numberIn(this.#nextStored));
      const next = String(first + count);
      const written = await store.writeSide(this.#session.sessionId, {
        set: { [nextField]: next },
        expected: { [nextField]: this.#nextStored },
        ...(ttlMs !== undefined && { ttlMs }),
      });
      if (written) {
        this.#nextStored = next;
        return first;
      }
      this.#nextStored = (await this.#readSide(nextField))[nextField];
    }
    throw new ConflictError("Other processes kept taking source numbers of this session; try again.", {
      code: "stale",
      sessionId: this.#session.sessionId,
    });
  }

  /** The changes of side data that store what a turn leaves, and keep the newest references only. */
  changes({ uploads, removedUploads, references }: TurnData): SideChanges {
    const set = Object.fromEntries([
      ...uploads.map((upload) => [uploadPrefix + upload.id, writeUpload(upload)]),
      ...references.map((reference) => [fieldOf(reference), JSON.stringify(reference)]),
    ]) as Record<string, string>;
    return {
      set,
      ...(removedUploads.length > 0 && { remove: removedUploads.map((id) => uploadPrefix + id) }),
      ...(references.length > 0 && { bound: { prefix: sourcePrefix, keep: this.#maxSources } }),
    };
  }

  #readSide(fields: string): Promise<Readonly<Record<string, string>>> {
    return this.#session.context.store.readSide(this.#session.sessionId, fields);
  }
}

/** Padded, so that the order of names is the order of numbers. */
function fieldOf({ sourceNumber }: SourceReference): string {
  return sourcePrefix + String(sourceNumber).padStart(12, "0");
}

function numberIn(stored: string | undefined): number {
  const value = Number(stored);
  return Number.isSafeInteger(value) && value > 0 ? value : 1;
}

function readReference(stored: string): SourceReference | undefined {
  try {
    const reference = JSON.parse(stored) as SourceReference;
    return Number.isSafeInteger(reference.sourceNumber) && typeof reference.chunk?.text === "string"
      ? reference
      : undefined;
  } catch {
    return undefined;
  }
}
