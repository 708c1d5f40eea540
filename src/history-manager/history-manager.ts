import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { assertConversation } from "../structure/validate.js";
import { BudgetError, ConfigurationError } from "../errors.js";
import { report } from "../events.js";
import type { ConversationSession } from "../memory/conversation-session.js";
import { sessionOf } from "../memory/redis-chat-message-history.js";
import { parseOptions, type SchemaOutput } from "../options.js";
import { tiktokenCounter } from "../tokens/counters/tiktoken-counter.js";
import { TextCleaner } from "./shown/clean-text.js";
import * as forms from "./history-manager-options.js";
import { PromptMessages } from "./window/prompt-messages.js";
import type { ReferenceManager } from "./stored/reference-manager.js";
import { SessionData, type Snapshot } from "./stored/session-data.js";
import { SourceNumbering } from "./turn/source-numbering.js";
import { readStoredHistory, type StoredHistory } from "./stored/stored-history.js";
import { TokenMeter } from "./window/token-meter.js";
import { TokenWindow, type FittedWindow } from "./window/token-window.js";
import { toolCallResponsesSchema, type ToolCallResponse } from "./turn/tool-results.js";
import { recordTurn } from "./turn/turn-record.js";
import { toolCallRequestsSchema, Turn, type ToolCallRequest } from "./turn/turn.js";
import { uploadedContentsSchema, type UploadedContent } from "./stored/uploads.js";
import { userVisible } from "./shown/user-visible.js";

/**
 * The history of an agent in its loop: puts stored rounds, uploads, tool calls and results into the model's window,
 * says what became of each, and stores the whole turn at its end in one write.
 *
 * A turn begins with the first call after a commit (or after construction) and reads the session once: its view and its
 * side data. Make one manager per session and process, or one per request; several instances may serve a session in
 * turns. What the model gets is always a valid conversation.
 *
 * @example
 * const manager = new HistoryManager({ history, maxInputTokens: 128_000, tools });
 * const { messages, outcome } = await manager.getHistoryForModelCall({ originalUserMessage, renderedUserMessage, renderedSystemMessage });
 * const answer = await model.invoke(messages);
 * manager.addAssistantMessage(answer);
 * await manager.addToolCallResults(await runTools(answer.tool_calls));
 * // … until the model answers without a call
 * await manager.commit();
 */
export class HistoryManager {
  /** The sources of the session by number; complete from the turn's first read on. */
  readonly references: ReferenceManager;
  readonly #options: SchemaOutput<typeof forms.managerSchema>;
  readonly #session: ConversationSession;
  readonly #data: SessionData;
  readonly #numbering: SourceNumbering;
  readonly #window: TokenWindow;
  readonly #cleaner = new TextCleaner();
  readonly #prompt = new PromptMessages();
  #turn = new Turn();
  #snapshot: Promise<Snapshot> | undefined;
  #stored:
    | {
        readonly view: readonly BaseMessage[];
        readonly originalUserMessage: string | undefined;
        readonly history: StoredHistory;
      }
    | undefined;
  #committing: Promise<void> | undefined;

  constructor(options: forms.HistoryManagerOptions) {
    this.#options = parseOptions("HistoryManager", forms.managerSchema(), options);
    const { history, maxInputTokens, safetyMargin, percentForUploadedContent, tools, references, maxSources } =
      this.#options;
    this.references = references;
    this.#session = sessionOf(history);
    this.#data = new SessionData(this.#session, maxSources);
    this.#numbering = new SourceNumbering(references, this.#data);
    const counter = this.#options.tokenCounter ?? this.#session.context.tokenCounter ?? tiktokenCounter();
    // Rounded, because 110 less a tenth is 98.99999999999999 in binary.
    const limit = Math.floor(Number((maxInputTokens * (1 - safetyMargin)).toFixed(6)));
    this.#window = new TokenWindow(new TokenMeter(counter, tools), { limit, uploadShare: percentForUploadedContent });
  }

  /** Adds an AI message without text that makes these calls. Results are expected by their ids. */
  appendToolCalls(toolCalls: readonly ToolCallRequest[]): void {
    parseOptions("appendToolCalls", toolCallRequestsSchema(), toolCalls);
    this.#openTurn().addCalls(toolCalls);
  }

  /** Adds a message of the model, with the calls that it makes. */
  addAssistantMessage(message: BaseMessage): void {
    this.#openTurn().addMessage(message);
  }

  /**
   * Adds results of calls, in any order, and numbers their sources. A failed call becomes a result that names the tool
   * and the error. One round trip where there are sources, so that no other turn of the session gets their numbers.
   *
   * @throws ConfigurationError for a result that no call of the turn waits for. After a StoreError the results are
   *   there; the next call goes on from there.
   */
  async addToolCallResults(responses: readonly ToolCallResponse[]): Promise<void> {
    this.#openTurn().addResults(parseOptions("addToolCallResults", toolCallResponsesSchema(), responses));
    await this.#number();
  }

  /**
   * Adds files that the user brought; stored with the turn, and from then on shown with the message that brought them,
   * on every instance.
   *
   * @throws BudgetError (in bytes) where an upload or all of the session's uploads together would be too large.
   */
  async addUploadedContent(contents: readonly UploadedContent[]): Promise<void> {
    parseOptions("addUploadedContent", uploadedContentsSchema(), contents);
    const turn = this.#openTurn();
    turn.addUploads(contents, { stored: (await this.#read()).uploads, limits: this.#options });
  }

  /** Takes uploads away, by id; stored with the turn. */
  removeUploadedContent(ids: readonly string[]): void {
    this.#openTurn().removeUploads(ids);
  }

  /**
   * The messages for the next model call, and what became of everything that was to go in: within the window, or
   * `outcome.overBudgetBy` says by how much not.
   *
   * Tool results of earlier loop iterations and images of tools are there in every call of the turn. Where the model's
   * own message would come last, "Please continue." follows it. No round trip but the turn's first read.
   *
   * @throws StructureError while a call waits for its result; BudgetError with `onOverBudget: "throw"`.
   */
  async getHistoryForModelCall(request: forms.ModelCallRequest): Promise<FittedWindow> {
    const { originalUserMessage, renderedUserMessage, renderedSystemMessage, removeFromText } = parseOptions(
      "getHistoryForModelCall",
      forms.modelCallSchema(),
      request,
    );
    const turn = this.#openTurn();
    turn.originalUserMessage = originalUserMessage;
    const snapshot = await this.#read();
    await this.#number();
    const stored = this.#storedHistory(snapshot.view, originalUserMessage);
    const rounds = await Promise.all(stored.rounds.map((round) => this.#cleaner.clean(round, removeFromText)));
    const window = await this.#window.fit({
      system: this.#prompt.system(renderedSystemMessage),
      user: this.#prompt.user(renderedUserMessage, stored.current),
      history: { ...stored, rounds, pinned: stored.pinned.filter(({ content }) => content !== renderedSystemMessage) },
      uploads: turn.uploadsWith(snapshot.uploads),
      steps: turn.steps,
      cited: new Set(this.references.cited(turn.assistantText() ?? "")),
    });
    assertConversation(window.messages, { purpose: "model-input" });
    const { overBudgetBy, tokens, limit } = window.outcome;
    if (overBudgetBy > 0 && this.#options.onOverBudget === "throw") {
      throw new BudgetError(`What must be sent takes ${tokens} tokens; the window holds ${limit}.`, {
        needed: tokens,
        allowed: limit,
      });
    }
    return window;
  }

  /**
   * Stores the whole turn in one write, one round trip, and ends it: the original user message, all calls and results,
   * the answer, uploads and references. Sources that the turn's texts do not cite are left out of the stored results.
   * Images of tools are not stored. Nothing to store: nothing is written.
   *
   * Call it again after an error: what is stored already is not stored twice. A job that is run anew by another process
   * needs a `turnId` for that.
   *
   * @throws StructureError while a call waits for its result; ConflictError where a turn of this id is stored with
   *   other content; StoreError.
   */
  async commit(options: { readonly turnId?: string } = {}): Promise<void> {
    const { turnId = this.#turn.id } = parseOptions("commit", forms.commitSchema(), options);
    this.#committing ??= this.#store(turnId).finally(() => {
      this.#committing = undefined;
    });
    return this.#committing;
  }

  /** Forgets what was added since the last commit; nothing of it was stored. */
  discardTurn(): void {
    const turn = this.#openTurn();
    this.#endTurn(turn.results().flatMap(({ sources }) => sources.map(({ sourceNumber }) => sourceNumber)));
  }

  /**
   * What a user may see: what either side said in the last stored rounds, whether the model still sees them or not, and
   * in the current turn. One round trip.
   */
  async getUserVisibleHistory(options: forms.UserVisibleOptions = {}): Promise<BaseMessage[]> {
    const { rounds, removeFromText } = parseOptions("getUserVisibleHistory", forms.userVisibleSchema(), options);
    const { originalUserMessage, steps } = this.#turn;
    const stored = (await this.#session.rounds(rounds)).flatMap(({ messages }) => messages);
    const isStored = readStoredHistory(stored, originalUserMessage).current !== undefined;
    const asked = originalUserMessage === undefined || isStored ? [] : [new HumanMessage(originalUserMessage)];
    return this.#cleaner.clean(
      userVisible([...stored, ...asked, ...steps.map(({ message }) => message)]),
      removeFromText,
    );
  }

  async #store(turnId: string): Promise<void> {
    const turn = this.#turn;
    if (turn.isEmpty) {
      return;
    }
    const { view } = await this.#read();
    await this.#number();
    const { originalUserMessage } = turn;
    const text = turn.assistantText();
    const { messages, data, uncited } = recordTurn(turn, {
      turnId,
      stored: this.#storedHistory(view, originalUserMessage).current,
      cited: text === undefined ? undefined : new Set(this.references.cited(text)),
    });
    await this.#session.append(messages, { turnId, side: this.#data.changes(data) });
    this.#endTurn(uncited);
  }

  #endTurn(uncited: readonly number[]): void {
    this.references.forget(uncited);
    const known = this.references.toList();
    // As another instance would find them.
    this.references.forget(
      known.slice(0, Math.max(0, known.length - this.#options.maxSources)).map(({ sourceNumber }) => sourceNumber),
    );
    this.#turn = new Turn();
    this.#snapshot = undefined;
  }

  #openTurn(): Turn {
    if (this.#committing !== undefined) {
      throw new ConfigurationError(
        "commit",
        "The turn is being stored; wait for commit() before the next turn begins.",
      );
    }
    return this.#turn;
  }

  /** What the session held when the turn began; read again after a failure. */
  #read(): Promise<Snapshot> {
    this.#snapshot ??= this.#data.read().then(
      (snapshot) => {
        this.references.restore(snapshot.references);
        return snapshot;
      },
      (error: unknown) => {
        this.#snapshot = undefined;
        throw error;
      },
    );
    return this.#snapshot;
  }

  /** The view, sorted once a turn: what is made anew of it would have to be counted anew. */
  #storedHistory(view: readonly BaseMessage[], originalUserMessage: string | undefined): StoredHistory {
    if (this.#stored?.view !== view || this.#stored.originalUserMessage !== originalUserMessage) {
      const history = readStoredHistory(view, originalUserMessage);
      this.#stored = { view, originalUserMessage, history };
      const rules = [...new Set(history.repairs.map(({ rule }) => rule))];
      if (rules.length > 0) {
        report(this.#session.context.onEvent, { type: "repaired", sessionId: this.#session.sessionId, rules });
      }
    }
    return this.#stored.history;
  }

  #number(): Promise<void> {
    return this.#numbering.number(this.#turn, () => this.#read());
  }
}
