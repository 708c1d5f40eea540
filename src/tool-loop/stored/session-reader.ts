import { HumanMessage } from "@langchain/core/messages";
import { report } from "../../base/events.js";
import type { ConversationSession } from "../../session/conversation-session.js";
import { comparableForms } from "../../session/stored-forms.js";
import { textOf } from "../../messages/content.js";
import type { Adapter } from "../../structure/adapters/adapter.js";
import { sealedIn } from "../../messages/calls.js";
import type { StructureProfile } from "../../structure/profiles/profile.js";
import type { StructureRepair } from "../../structure/repair/session.js";
import { reportForeign } from "../../structure/seam/model-input.js";
import type { OpenTurn } from "../../turns/open-turn.js";
import type { ReferenceManager } from "./reference-manager.js";
import type { SessionData, Snapshot } from "./session-data.js";
import { readStoredHistory, type StoredHistory } from "./history.js";

interface SortedTurn {
  readonly turn: OpenTurn;
  readonly originalUserMessage: string | undefined;
  readonly history: StoredHistory;
}

/** Reads the session once a turn, and sorts what is stored once. */
export class SessionReader {
  readonly #session: ConversationSession;
  readonly #data: SessionData;
  readonly #references: ReferenceManager;
  #reading: { readonly turnId: string | undefined; readonly snapshot: Promise<Snapshot> } | undefined;
  #sorted: SortedTurn | undefined;
  #readable: { readonly turn: OpenTurn; readonly adapter: Adapter | undefined; readonly opened: OpenTurn } | undefined;
  #hasReported = false;
  #asked: HumanMessage | undefined;

  constructor(session: ConversationSession, data: SessionData, references: ReferenceManager) {
    this.#session = session;
    this.#data = data;
    this.#references = references;
  }

  /**
   * Returns what the session held when the turn began, and restores its references. A failed read is repeated, and so
   * is one that did not know the turn's name yet.
   */
  read(turnId: string | undefined): Promise<Snapshot> {
    if (this.#reading === undefined || (turnId !== undefined && turnId !== this.#reading.turnId)) {
      const reading = { turnId, snapshot: this.#read(turnId) };
      this.#reading = reading;
      reading.snapshot.catch(() => {
        this.#reading = this.#reading === reading ? undefined : this.#reading;
      });
    }
    return this.#reading.snapshot;
  }

  async #read(turnId: string | undefined): Promise<Snapshot> {
    const snapshot = await this.#data.read(turnId);
    this.#references.restore(snapshot.references);
    return snapshot;
  }

  /** The stored part of the turn; undefined before the first read. */
  async known(): Promise<OpenTurn | undefined> {
    return (await this.#reading?.snapshot)?.turn;
  }

  /** A turn as the profile's adapter can read it; the same object for the same arguments. Reports what is left out. */
  async readable(turn: OpenTurn, profile: StructureProfile): Promise<OpenTurn> {
    const { adapter } = profile;
    const { sessionId, context } = this.#session;
    if (sealedIn(turn.history, adapter) === undefined) {
      reportForeign(turn.history, profile, { sessionId, onEvent: context.onEvent });
      return turn;
    }
    if (this.#readable?.turn !== turn || this.#readable.adapter !== adapter) {
      const { readableTurn } = await import("../../turns/readable-turn.js");
      this.#readable = { turn, adapter, opened: await readableTurn(this.#session, turn, adapter) };
    }
    return this.#readable.opened;
  }

  /**
   * Sorts what is stored by how a window treats it. Returns the same objects for the same arguments: new message
   * objects would have to be counted again.
   */
  async sort(turn: OpenTurn, originalUserMessage: string | undefined): Promise<StoredHistory> {
    const questions = await this.questions(originalUserMessage);
    if (this.#sorted?.turn !== turn || this.#sorted.originalUserMessage !== originalUserMessage) {
      const history = readStoredHistory(turn, questions);
      this.#sorted = { turn, originalUserMessage, history };
    }
    return this.#sorted.history;
  }

  /** A question as it was said, and as it is stored where that differs. */
  async questions(original: string | undefined): Promise<readonly string[]> {
    const { forms } = this.#session.context;
    if (original === undefined || forms === undefined) {
      return original === undefined ? [] : [original];
    }
    if (this.#asked?.text !== original) {
      this.#asked = new HumanMessage(original);
    }
    const [form] = await comparableForms([this.#asked!], forms);
    return [...new Set([original, textOf(form!)])];
  }

  /** Reports repairs to `onEvent`, once a turn. */
  report(repairs: readonly StructureRepair[]): void {
    if (repairs.length > 0 && !this.#hasReported) {
      this.#hasReported = true;
      const { sessionId, context } = this.#session;
      report(context.onEvent, { type: "repaired", sessionId, rules: [...new Set(repairs.map(({ rule }) => rule))] });
    }
  }

  /** Makes the next turn read the session again. */
  forget(): void {
    this.#reading = undefined;
    this.#hasReported = false;
  }
}
