import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { BudgetError, ConfigurationError } from "../../base/errors.js";
import { checkReserve } from "../../conversation/reducers/window/options.js";
import { blocksOf, isTextBlock, textBlock, textOf } from "../../conversation/messages/content.js";
import { changeContent } from "../../conversation/messages/copies/edit-message.js";
import { sameElements } from "../../conversation/messages/copies/plain-answer.js";
import { roleOf } from "../../conversation/messages/message.js";
import type { ConversationSession } from "../../memory/session/conversation-session.js";
import { sessionOf } from "../../memory/histories/redis-chat-message-history.js";
import { parseOptions, type SchemaOutput } from "../../base/options.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { resolveProfileChoice } from "../../conversation/structure/options.js";
import { boundThoughts, planOf } from "../../conversation/structure/seam/model-input.js";
import type { BoundThoughts, ModelPlan } from "../../conversation/structure/seam/model-input.js";
import { tiktokenCounter } from "../../conversation/tokens/counters/tiktoken-counter.js";
import { TextCleaner, userVisible, withCurrentTurn } from "./text-cleaner.js";
import * as forms from "./history-manager-options.js";
import { type ReferenceManager, uploadedContentsSchema, type UploadedContent } from "./stored/references.js";
import { readStoredHistory, StoredSession } from "./stored/stored-session.js";
import { LoopTurn, toolCallRequestsSchema, type ToolCallRequest } from "./turn/turn.js";
import { RequestWindow, type FittedWindow } from "./token-window/request-window.js";
import { toolCallResponsesSchema, type ToolCallResponse } from "./turn/tool-results.js";
import { recordTurn } from "./turn/record.js";

/**
 * Manages the history of an agent's loop: fits earlier turns, uploads, tool calls and results into the model's context
 * window as `contextWindow` does, reports what was left out, and stores the whole turn in one write when it ends.
 *
 * A turn begins with the first call after a commit (or after construction) and reads the session once: its view and its
 * side data. Create one manager per session and process, or one per request; several instances may take turns serving a
 * session. The model always gets a valid conversation.
 *
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { RedisChatMessageHistory } from "langchain-redis-memory";
 * import { HistoryManager } from "langchain-redis-memory/tool-loop";
 *
 * const history = new RedisChatMessageHistory({ sessionId: "ann-1", url: "redis://localhost:6379" });
 * const manager = new HistoryManager({ history, maxInputTokens: 128_000 });
 * const model = new ChatOpenAI({ model: "gpt-4o-mini" });
 * const question = "May I fly to Vienna?";
 * const request = { originalUserMessage: question, renderedUserMessage: question, renderedSystemMessage: "Be brief." };
 * for (let calls = 1; calls > 0; ) {
 *   const answer = await model.invoke((await manager.getHistoryForModelCall(request)).messages);
 *   manager.addAssistantMessage(answer);
 *   const results = (answer.tool_calls ?? []).map(({ id = "", name }) => ({ id, name, content: "by train" }));
 *   await manager.addToolCallResults(results);
 *   calls = results.length;
 * }
 * await manager.commit();
 * await history.close();
 */
export class HistoryManager {
  /** The sources of the session by number; complete once the turn has read the session. */
  readonly references: ReferenceManager;
  readonly #options: SchemaOutput<typeof forms.managerSchema>;
  readonly #session: ConversationSession;
  readonly #stored: StoredSession;
  readonly #window: RequestWindow;
  readonly #profile: StructureProfile | "auto";
  readonly #cleaner = new TextCleaner();
  #prompt: Prompt | undefined;
  #turn = new LoopTurn();
  /** Stamps the answer to the last request; undefined for models that do not bind their thoughts. */
  #stamp: BoundThoughts["stamp"] | undefined;
  #committing: Promise<void> | undefined;

  /** @throws ConfigurationError naming the option. */
  constructor(options: forms.HistoryManagerOptions) {
    this.#options = parseOptions("HistoryManager", forms.managerSchema(), options);
    const { history, maxInputTokens, reserveForAnswer: reserve, references, maxSources } = this.#options;
    checkReserve("HistoryManager", this.#options);
    this.references = references;
    this.#session = sessionOf("HistoryManager", history);
    this.#stored = new StoredSession({ history, session: this.#session, references, maxSources });
    const { model, profile: own, safetyMargin, percentForUploadedContent: uploadShare } = this.#options;
    const tokenCounter = this.#options.tokenCounter ?? this.#session.context.tokenCounter ?? tiktokenCounter();
    const reserveForAnswer = maxInputTokens === undefined ? reserve : (reserve ?? 0);
    this.#window = new RequestWindow({ maxInputTokens, reserveForAnswer, safetyMargin, tokenCounter, uploadShare });
    const given = own ?? this.#session.context.profile;
    // Without a model, the memory's default changes no more than every model needs.
    const ofNobody = own === undefined ? "langchain" : "neutral";
    this.#profile = resolveProfileChoice("HistoryManager", given === "auto" && model === undefined ? ofNobody : given);
    if (maxInputTokens === undefined && model === undefined) {
      throw new ConfigurationError(
        "maxInputTokens",
        'HistoryManager: give "maxInputTokens", or a "model" whose window is known.',
      );
    }
  }

  /** Adds an AI message without text that makes these calls. Their results are matched by call id. */
  appendToolCalls(toolCalls: readonly ToolCallRequest[]): void {
    parseOptions("appendToolCalls", toolCallRequestsSchema(), toolCalls);
    this.#openTurn().addCalls(toolCalls);
  }

  /**
   * Adds a message from the model, including its tool calls. One under the id of another message of the session is
   * stored under an id of its own (event `answer_renamed`).
   */
  addAssistantMessage(message: BaseMessage): void {
    this.#openTurn().addMessage(message, (copy) => {
      const stamped = this.#stamp?.(copy) ?? copy;
      return this.#stored.turn?.requests.answered(stamped) ?? stamped;
    });
  }

  /**
   * Adds tool results, in any order, and numbers their sources. A failed call becomes a result that names the tool and
   * the error. One round trip if there are sources, to reserve their numbers in the session.
   *
   * @throws ConfigurationError if no call of the turn is waiting for a result. After a StoreError the results are kept;
   *   the next call numbers their sources.
   */
  async addToolCallResults(responses: readonly ToolCallResponse[]): Promise<void> {
    this.#openTurn().addResults(parseOptions("addToolCallResults", toolCallResponsesSchema(), responses));
    await this.#stored.number(this.#turn);
  }

  /**
   * Adds files that the user uploaded. They are stored with the turn; later turns show them with the message they came
   * with, on every instance.
   *
   * @throws BudgetError (in bytes) if one upload, or all uploads of the session together, would be too large.
   */
  async addUploadedContent(contents: readonly UploadedContent[]): Promise<void> {
    parseOptions("addUploadedContent", uploadedContentsSchema(), contents);
    const turn = this.#openTurn();
    turn.addUploads(contents, { stored: (await this.#stored.read(turn.name)).uploads, limits: this.#options });
  }

  /** Removes uploads by id. The removal is stored with the turn. */
  removeUploadedContent(ids: readonly string[]): void {
    this.#openTurn().removeUploads(ids);
  }

  /**
   * Returns the messages for the next model call, and an outcome that says what was left out or shortened. The messages
   * fit the window, or `outcome.overBudgetBy` says by how much they exceed it.
   *
   * Every call of the turn includes the tool results and tool images of earlier loop iterations. If the model's own
   * message would be last, "Please continue." follows it. No round trip except for the turn's first read. A turn that
   * is stored with its answer has a `replay`: no model is to be called for it.
   *
   * @throws StructureError while a call is waiting for its result; BudgetError with `onOverBudget: "throw"`.
   */
  async getHistoryForModelCall(request: forms.ModelCallRequest): Promise<FittedWindow> {
    const call = parseOptions("getHistoryForModelCall", forms.modelCallSchema(), request);
    const { originalUserMessage: original, renderedUserMessage: rendered, renderedSystemMessage } = call;
    const turn = this.#openTurn();
    turn.nameAs("getHistoryForModelCall", call.turnId);
    turn.originalUserMessage = original;
    const { turn: opened, uploads } = await this.#stored.read(turn.name);
    await this.#stored.number(this.#turn);
    const { model } = this.#options;
    const planned = await planOf(this.#profile, { model, tools: this.#options.tools }, this.#session.observer);
    const stored = readStoredHistory(await opened.requests.openedFor(planned.plan.criteria.profile), original);
    const earlier = await this.#cleaner.clean(stored.earlier, call.removeFromText);
    const said = [...earlier, ...stored.steps, ...turn.steps.map(({ message }) => message)];
    const answers = said.filter((message) => roleOf(message) === "ai");
    const window = await this.#window.fit(opened.requests, {
      ...this.#promptOf([renderedSystemMessage, rendered, stored.current]),
      history: { ...stored, earlier, pinned: stored.pinned.filter(({ content }) => content !== renderedSystemMessage) },
      uploads: [...turn.uploadsWith(uploads), ...turn.results().flatMap(({ images }) => images)],
      steps: turn.steps,
      cited: new Set(answers.flatMap((message) => this.references.cited(textOf(message)))),
      plan: planned.plan,
      model,
      tools: this.#tools,
    });
    this.#refuseExcess(window);
    const bound = await this.#withBoundThoughts(window, planned.profile);
    return opened.replay === undefined ? bound : { ...bound, replay: opened.storedAnswer };
  }

  /** The model call's own messages; the same objects for the same texts, so that they are counted once. */
  #promptOf(parts: Prompt["parts"]): Omit<Prompt, "parts"> {
    if (this.#prompt === undefined || !sameElements(this.#prompt.parts, parts)) {
      const [instructions, rendered, stored] = parts;
      const system = instructions === "" ? undefined : new SystemMessage(instructions);
      const user = stored ? renderedQuestion(stored, rendered) : new HumanMessage(rendered);
      this.#prompt = { parts, system, user };
    }
    return this.#prompt;
  }

  /** Undefined where those that are bound to the model count. */
  get #tools(): readonly unknown[] | undefined {
    const { tools } = this.#options;
    return tools.length > 0 ? tools : undefined;
  }

  #refuseExcess({ outcome: { overBudgetBy, tokens, limit } }: FittedWindow): void {
    if (overBudgetBy > 0 && this.#options.onOverBudget === "throw") {
      throw new BudgetError(
        `getHistoryForModelCall: the smallest possible request takes ${tokens} tokens, ` +
          `but the window allows ${limit}; shorten the prompt or raise "maxInputTokens".`,
        { needed: tokens, allowed: limit },
      );
    }
  }

  async #withBoundThoughts(window: FittedWindow, profile: ModelPlan["profile"]): Promise<FittedWindow> {
    const request = { profile, messages: window.messages, tools: this.#tools ?? profile.tools };
    const bound = await boundThoughts(request, this.#session.observer);
    this.#stamp = bound?.stamp;
    return bound === undefined ? window : { ...window, messages: bound.messages };
  }

  /**
   * Stores the whole turn in one write (one round trip) and ends it: the original user message, all calls and results,
   * the answer, uploads and references. All sources that tools found are stored, cited or not.
   * Images from tools are not stored: add those that later turns are to see as uploads. An empty turn writes nothing.
   *
   * Call it again after an error: nothing is stored twice. A job that another process may run again needs a `turnId`
   * for that, best one that `getHistoryForModelCall` is given too. A turn that is stored already is not stored again
   * (event `turn_repeated`); of one that is stored in part, the rest is added. A last message that is marked
   * `response_metadata.interrupted` leaves the turn open: the answer of a later run with this `turnId` replaces it.
   *
   * @throws ConfigurationError `originalUserMessage` for a turn without a question; StructureError while a call is
   *   waiting for its result; ConflictError if a turn with this id is stored with other content; StoreError.
   */
  async commit(options: Pick<forms.ModelCallRequest, "turnId"> = {}): Promise<void> {
    const { turnId } = parseOptions("commit", forms.commitSchema(), options);
    this.#turn.nameAs("commit", turnId);
    return this.#ending(async (turn) => {
      const { messages, side, opened } = await this.#record(turn);
      if (turn.originalUserMessage === undefined && opened.opened.stored.length === 0) {
        const advice = "call getHistoryForModelCall with its originalUserMessage first";
        throw new ConfigurationError("originalUserMessage", `commit: the turn has no question; ${advice}.`);
      }
      await opened.finish(messages, { side });
      this.#endTurn();
    });
  }

  /**
   * Ends a turn whose model call failed. If the provider would refuse the same request again, stores the question and
   * the steps with a mark, so that later requests go out without what was refused, and a retry with the same `turnId`
   * goes on there. After any other error nothing is stored. Never rejects: a failure is reported by `turn_not_stored`.
   */
  async failTurn(error: unknown): Promise<void> {
    await this.#ending(async (turn) => this.#stored.turn?.fail(error, () => this.#record(turn)));
    this.discardTurn();
  }

  /** Discards everything added since the last commit; none of it was stored. */
  discardTurn(): void {
    const turn = this.#openTurn();
    this.#endTurn(turn.results().flatMap(({ sources }) => sources.map(({ sourceNumber }) => sourceNumber)));
  }

  /**
   * Returns what the user may see: what both sides said in the newest stored rounds (also those that left the view) and
   * in the current turn. One round trip.
   */
  async getUserVisibleHistory(options: forms.UserVisibleOptions = {}): Promise<BaseMessage[]> {
    const { rounds, removeFromText } = parseOptions("getUserVisibleHistory", forms.userVisibleSchema(), options);
    const { originalUserMessage, steps } = this.#turn;
    const opened = (await this.#stored.openedTurn())?.opened;
    const stored = (await this.#session.rounds(rounds)).flatMap(({ messages }) => messages);
    const said = withCurrentTurn(stored, { opened, originalUserMessage, added: steps.map(({ message }) => message) });
    return this.#cleaner.clean(userVisible(said), removeFromText);
  }

  /** Stores what was added, unless that is nothing; meanwhile nothing can be added. */
  #ending(store: (turn: LoopTurn) => Promise<void>): Promise<void> {
    this.#committing ??= (this.#turn.isEmpty ? Promise.resolve() : store(this.#turn)).finally(() => {
      this.#committing = undefined;
    });
    return this.#committing;
  }

  /** The messages and side data that a turn stores. */
  async #record(turn: LoopTurn) {
    const { turn: opened } = await this.#stored.read(turn.name);
    await this.#stored.number(this.#turn);
    const { messages, data } = await recordTurn(turn, {
      stored: readStoredHistory(opened.opened, turn.originalUserMessage),
      cited: new Set(turn.steps.flatMap(({ message }) => this.references.cited(textOf(message)))),
      forms: this.#session.context.forms,
    });
    return { opened, messages, side: this.#stored.changes(data) };
  }

  #endTurn(discarded: readonly number[] = []): void {
    this.references.forget(discarded);
    const list = this.references.toList();
    // Keeps as many as the store does, so that this instance knows the same references as any other.
    this.references.forget(
      list.slice(0, Math.max(0, list.length - this.#options.maxSources)).map(({ sourceNumber }) => sourceNumber),
    );
    this.#turn = new LoopTurn();
    this.#stamp = undefined;
    this.#stored.forget();
  }

  #openTurn(): LoopTurn {
    if (this.#committing !== undefined) {
      throw new ConfigurationError(
        "commit",
        "HistoryManager: the turn is being stored; await commit() before you begin the next turn.",
      );
    }
    return this.#turn;
  }
}

/** The own messages of a model call, and what they were made of. */
interface Prompt {
  readonly parts: readonly [instructions: string, rendered: string, stored: BaseMessage | undefined];
  readonly system: BaseMessage | undefined;
  readonly user: BaseMessage;
}

/** The stored question as the model reads it: the rendered text in the place of its own, pictures and files behind. */
function renderedQuestion(stored: BaseMessage, text: string): BaseMessage {
  const others = blocksOf(stored).filter((block) => !isTextBlock(block));
  return changeContent(stored, others.length === 0 ? text : [textBlock(text), ...others]);
}
