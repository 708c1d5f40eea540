import type { BaseMessage } from "@langchain/core/messages";
import { maxTries } from "../../../base/bounds.js";
import { ConflictError } from "../../../base/errors.js";
import type { AppendHistory } from "../../../memory/session/append-input.js";
import type { ConversationSession } from "../../../memory/session/conversation-session.js";
import { Turn } from "../../../memory/turns/turn.js";
import type { SideChanges } from "../../../store/contract/session-writes.js";
import { type ReferenceManager, type SourceReference, readUpload, type Upload } from "./references.js";
import type { LoopTurn } from "../turn/turn.js";
import { valueIn, refusedMarkOf, roleOf, speakerOf } from "../../../conversation/messages/message.js";
import { textOf } from "../../../conversation/messages/content.js";
import { answerStart } from "../../../memory/session/turn-messages.js";
import type { OpenTurn } from "../../../memory/turns/open-turn.js";

/** The session as it was when the turn began: the turn, opened, and the uploads. */
interface Snapshot {
  readonly turn: Turn;
  readonly uploads: readonly Upload[];
}

/** The side data that a turn stores. */
export interface TurnData {
  readonly uploads: readonly Upload[];
  readonly removedUploads: readonly string[];
  readonly references: readonly SourceReference[];
}

/** A session, and the sources of it that a manager knows. */
interface SessionParts {
  readonly history: AppendHistory;
  readonly session: ConversationSession;
  readonly references: ReferenceManager;
  readonly maxSources: number;
}

const prefix = "history:";
const nextField = `${prefix}next-source`;
const uploadPrefix = `${prefix}upload:`;
const sourcePrefix = `${prefix}source:`;
/** Nothing is stored by itself: the application says when a turn is finished, or has failed. */
const policy = { persist: "step", onAbort: "keep" } as const;

/**
 * The session of a manager: opens its turn and reads the side data that the session's managers share, once a turn:
 * uploads, sources, and the next source number.
 */
export class StoredSession {
  readonly #parts: SessionParts;
  #reading: { readonly turnId: string; readonly snapshot: Promise<Snapshot> } | undefined;
  #turn: Turn | undefined;
  #nextStored: string | undefined;
  /** The last numbering: they run one after the other. */
  #numbered: Promise<void> = Promise.resolve();

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  /** The turn; undefined before it is opened. */
  get turn(): Turn | undefined {
    return this.#turn;
  }

  /**
   * Returns what the session held when the turn began, and restores its references. A failed read is repeated, and so
   * is one that did not know the turn's name yet. Two commands sent at the same time, so it takes as long as one round
   * trip; one more for a stored turn that has left the view.
   */
  read(turnId: string): Promise<Snapshot> {
    if (turnId !== this.#reading?.turnId) {
      const reading = { turnId, snapshot: this.#read(turnId) };
      this.#reading = reading;
      reading.snapshot.catch(() => {
        this.#reading = this.#reading === reading ? undefined : this.#reading;
      });
    }
    return this.#reading!.snapshot;
  }

  async #read(turnId: string): Promise<Snapshot> {
    const { history, session, references } = this.#parts;
    const [turn, side] = await Promise.all([
      Turn.open({ history, session, turnId, policy, acts: true }, { messages: [] }),
      session.context.store.data.readSide(session.ref, prefix),
    ]);
    this.#turn = turn;
    this.#nextStored = side[nextField];
    const valuesOf = <Value>(start: string, parse: (stored: string) => Value | undefined) =>
      Object.entries(side).flatMap(([name, value]) => (name.startsWith(start) ? (parse(value) ?? []) : []));
    references.restore(valuesOf(sourcePrefix, readReference));
    if (turn.replay !== undefined) {
      turn.reportReplay();
    }
    return { turn, uploads: valuesOf(uploadPrefix, readUpload).sort((a, b) => a.sequence - b.sequence) };
  }

  /** Waits for the turn's first read, if it has begun. */
  async openedTurn(): Promise<Turn | undefined> {
    return (await this.#reading?.snapshot)?.turn;
  }

  /** Makes the next turn read the session again. */
  forget(): void {
    this.#reading = undefined;
    this.#turn = undefined;
  }

  /**
   * Numbers the sources of the turn's results that have no numbers yet, in their order. One round trip if there are
   * any. If it fails, the next call numbers them.
   */
  number(turn: LoopTurn): Promise<void> {
    const run = this.#numbered.then(async () => {
      const { references } = this.#parts;
      const results = turn.results().filter(({ chunks, sources }) => sources.length < chunks.length);
      const count = results.reduce((sum, { chunks }) => sum + chunks.length, 0);
      if (count > 0) {
        await this.read(turn.name);
        references.continueFrom(await this.#reserveSources(count, references.nextNumber));
        for (const result of results) {
          const { callId, chunks } = result;
          const numbers = references.addChunks(callId, chunks);
          result.sources = chunks.map((chunk, at) => ({ sourceNumber: numbers[at]!, toolCallId: callId, chunk }));
        }
      }
    });
    this.#numbered = run.catch(() => undefined);
    return run;
  }

  /**
   * Reserves `count` source numbers, none below `least`, and returns the first. No other turn of the session gets them,
   * now or later. One round trip, unless another process reserves numbers at the same moment.
   */
  async #reserveSources(count: number, least: number): Promise<number> {
    const { sessionId, ref, context } = this.#parts.session;
    const { ttlMs, store } = context;
    for (let attempt = 1; attempt <= maxTries.numbers; attempt += 1) {
      const first = Math.max(least, numberIn(this.#nextStored));
      const next = String(first + count);
      const written = await store.data.writeSide(ref, {
        set: { [nextField]: next },
        expected: { [nextField]: this.#nextStored },
        ...(ttlMs !== undefined && { ttlMs }),
      });
      if (written) {
        this.#nextStored = next;
        return first;
      }
      this.#nextStored = (await store.data.readSide(ref, nextField))[nextField];
    }
    throw new ConflictError(
      `Other processes reserved source numbers of this session during all ${maxTries.numbers} attempts; try again.`,
      { code: "stale", sessionId },
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
      ...(references.length > 0 && { bound: { prefix: sourcePrefix, keep: this.#parts.maxSources } }),
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

/** The stored messages, by how a window treats them. */
export interface StoredHistory {
  /** The view's system messages and summaries; they come before all rounds. */
  readonly pinned: readonly BaseMessage[];
  /** The other messages before the turn, oldest first. */
  readonly earlier: readonly BaseMessage[];
  /** The current turn's user message, if it is stored already. */
  readonly current: BaseMessage | undefined;
  /** True where that message is stored, or was stored and then discarded. */
  readonly isAsked: boolean;
  /** The steps of the current turn that are stored already, where an earlier run stored a part of it. */
  readonly steps: readonly BaseMessage[];
}

/**
 * Sorts what is stored. The current turn's question is the one that was stored under its name, else a user's message at
 * the end with exactly the original text. Linear.
 */
export function readStoredHistory(
  { state, history, stored, isQuestionGone }: Pick<OpenTurn, "state" | "history" | "stored" | "isQuestionGone">,
  original: string | undefined,
): StoredHistory {
  const start = answerStart(stored);
  const input = stored.slice(0, start).map(({ message }) => message);
  const all = [...history, ...input];
  const place = input.findLastIndex((message) => roleOf(message) === "human");
  const last = all.at(-1);
  const current = place >= 0 ? input[place] : isQuestion(last, original) ? last : undefined;
  const others = all.filter((message) => message !== current);
  const isPinned = (message: BaseMessage) => roleOf(message) === "system" || roleOf(message) === "summary";
  const steps = state === "open" ? stored.slice(start).map(({ message }) => message) : [];
  return {
    // System messages must come first. By type, because a provider sees a summary as whatever its type says.
    pinned: others.filter(isPinned).sort((a, b) => placeOf(a) - placeOf(b)),
    earlier: others.filter((message) => !isPinned(message)),
    current,
    isAsked: current !== undefined || isQuestionGone,
    steps: steps.filter((message) => refusedMarkOf(message) === undefined),
  };
}

/** True for a user's message with exactly this text. */
export function isQuestion(message: BaseMessage | undefined, text: string | undefined): boolean {
  return message !== undefined && roleOf(message) === "human" && textOf(message) === text;
}

function placeOf(message: BaseMessage): number {
  return speakerOf(message) === "system" ? 0 : 1;
}
