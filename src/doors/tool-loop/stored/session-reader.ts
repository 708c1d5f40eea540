import type { AppendHistory } from "../../../memory/session/append-options.js";
import type { ConversationSession } from "../../../memory/session/conversation-session.js";
import type { OpenTurn } from "../../../memory/turns/open-turn.js";
import { Turn } from "../../../memory/turns/turn.js";
import type { ReferenceManager } from "./reference-manager.js";
import type { SessionData, StoredData } from "./session-data.js";

/** The session as it was when the turn began. */
export interface Snapshot extends StoredData {
  readonly turn: Turn;
}

/** Nothing is stored by itself: the application says when a turn is finished, or has failed. */
const policy = { persist: "step", onAbort: "keep" } as const;

/** Opens the turn and reads the side data, once a turn. */
export class SessionReader {
  readonly #history: AppendHistory;
  readonly #session: ConversationSession;
  readonly #data: SessionData;
  readonly #references: ReferenceManager;
  #reading: { readonly turnId: string; readonly snapshot: Promise<Snapshot> } | undefined;
  #turn: Turn | undefined;

  constructor(
    { history, session }: { readonly history: AppendHistory; readonly session: ConversationSession },
    data: SessionData,
    references: ReferenceManager,
  ) {
    this.#history = history;
    this.#session = session;
    this.#data = data;
    this.#references = references;
  }

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
    const setting = { history: this.#history, session: this.#session, turnId, policy, acts: true };
    const [turn, data] = await Promise.all([Turn.open(setting, { messages: [] }), this.#data.read()]);
    this.#turn = turn;
    this.#references.restore(data.references);
    if (turn.replay !== undefined) {
      turn.reportReplay();
    }
    return { turn, ...data };
  }

  /** The stored part of the turn; undefined before the first read. */
  async storedTurn(): Promise<OpenTurn | undefined> {
    return (await this.#reading?.snapshot)?.turn.opened;
  }

  /** Makes the next turn read the session again. */
  forget(): void {
    this.#reading = undefined;
    this.#turn = undefined;
  }
}
