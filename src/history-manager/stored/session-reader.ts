import type { BaseMessage } from "@langchain/core/messages";
import { report } from "../../events.js";
import type { ConversationSession } from "../../memory/conversation-session.js";
import type { ReferenceManager } from "./reference-manager.js";
import type { SessionData, Snapshot } from "./session-data.js";
import { readStoredHistory, type StoredHistory } from "./stored-history.js";

interface SortedView {
  readonly view: readonly BaseMessage[];
  readonly originalUserMessage: string | undefined;
  readonly history: StoredHistory;
}

/** Reads the session once a turn, and sorts its view once. */
export class SessionReader {
  readonly #session: ConversationSession;
  readonly #data: SessionData;
  readonly #references: ReferenceManager;
  #snapshot: Promise<Snapshot> | undefined;
  #sorted: SortedView | undefined;

  constructor(session: ConversationSession, data: SessionData, references: ReferenceManager) {
    this.#session = session;
    this.#data = data;
    this.#references = references;
  }

  /** Returns what the session held when the turn began, and restores its references. A failed read is repeated. */
  read(): Promise<Snapshot> {
    this.#snapshot ??= this.#data.read().then(
      (snapshot) => {
        this.#references.restore(snapshot.references);
        return snapshot;
      },
      (error: unknown) => {
        this.#snapshot = undefined;
        throw error;
      },
    );
    return this.#snapshot;
  }

  /**
   * Sorts the view by how a window treats its messages, and reports repairs to `onEvent`. Returns the same objects for
   * the same arguments: new message objects would have to be counted again.
   */
  sort(view: readonly BaseMessage[], originalUserMessage: string | undefined): StoredHistory {
    if (this.#sorted?.view !== view || this.#sorted.originalUserMessage !== originalUserMessage) {
      const history = readStoredHistory(view, originalUserMessage);
      this.#sorted = { view, originalUserMessage, history };
      const rules = [...new Set(history.repairs.map(({ rule }) => rule))];
      if (rules.length > 0) {
        report(this.#session.context.onEvent, { type: "repaired", sessionId: this.#session.sessionId, rules });
      }
    }
    return this.#sorted.history;
  }

  /** Makes the next turn read the session again. */
  forget(): void {
    this.#snapshot = undefined;
  }
}
