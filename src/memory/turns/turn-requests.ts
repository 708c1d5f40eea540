import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { report, type MemoryEventHandler, type ViewSize } from "../../base/events.js";
import { loadedOnce } from "../../base/bounds.js";
import { messageIdOf } from "../../store/codec/encode-message.js";
import { fromCompaction, sealedIn } from "../../conversation/messages/content.js";
import { changeMessage } from "../../conversation/messages/change-message.js";
import { roleOf } from "../../conversation/messages/message.js";
import type { ReducerRequest } from "../../conversation/reducers/chat-history-reducer.js";
import type { ContextWindow, MeasuredRequest } from "../../conversation/reducers/window/context-window.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { noteAsked } from "../session/append-input.js";
import type { Adapter } from "../../conversation/structure/adapters/adapter.js";
import type { RepairPlan } from "../../conversation/structure/options.js";
import type { ProfileChoice } from "../../conversation/structure/profiles/check-profile.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { modelInput, planOf, reportCompaction, reportForeign } from "../../conversation/structure/seam/model-input.js";
import type { ModelInput, ModelPlan, PlannedRequest } from "../../conversation/structure/seam/model-input.js";
import type { FittedMessages, RequestToFit } from "./fit-request.js";
import { idsOf, windowFor, type OpenTurn } from "./open-turn.js";

/** The code that fits requests, loaded with the first memory that has a reducer. */
const fitting = loadedOnce(() => import("./fit-request.js"));
/** The code of views that the next model cannot read, loaded with the first one. */
const reading = loadedOnce(() => import("./commit-reduced.js"));

/** A call of the model, as far as a door knows it. */
export interface ModelCall extends Pick<ReducerRequest, "model" | "system" | "tools" | "isWhole"> {
  readonly config: RunnableConfig;
  /** The repair of the request. @default that of the model */
  readonly planned?: ModelPlan;
  readonly turn?: readonly BaseMessage[];
  /** Changes by other middleware. */
  readonly changes?: SentState;
}

/** The messages of a request in the form that its model takes. */
export interface FormedRequest extends ModelInput {
  readonly planned: ModelPlan;
}

/** Answers that this process has stored: a cache may return the same object for another question. */
const taken = new WeakSet<BaseMessage>();

/** Makes the requests of a turn: the view and the turn as one list, reduced, repaired, in the form of the model. */
export class TurnRequests {
  readonly #session: ConversationSession;
  readonly #profile: ProfileChoice;
  readonly #isInState: (message: BaseMessage) => boolean;
  readonly #reported = new Set<string>();
  #opened: OpenTurn;
  #toFit: RequestToFit | undefined;
  #measured: MeasuredRequest | undefined;
  #reducedFrom: ViewSize | undefined;
  #readFor: Adapter | undefined;
  /** True if the request at hand was refused as too long before. */
  #wasTooLong = false;
  /** Ids that no answer may get. */
  #knownIds: Set<string | undefined> | undefined;
  /** The view and the turn. */
  readonly list: TurnList;

  /** `isInState` tells messages of the view that the turn's own list holds again. */
  constructor(
    session: ConversationSession,
    opened: OpenTurn,
    { profile, isInState }: { readonly profile: ProfileChoice; readonly isInState: (message: BaseMessage) => boolean },
  ) {
    this.#session = session;
    this.#opened = opened;
    this.#profile = profile;
    this.#isInState = isInState;
    this.list = new TurnList(this.#before);
  }

  get opened(): OpenTurn {
    return this.#opened;
  }

  /** Size of the list before its first reduction; undefined if there was none. */
  get reducedFrom(): ViewSize | undefined {
    return this.#reducedFrom;
  }

  /** The adapter for which the view was read from the transcript; undefined where it was not. */
  get readFor(): Adapter | undefined {
    return this.#readFor;
  }

  get last(): ReducerRequest | undefined {
    return this.#toFit?.request;
  }

  get #before(): BaseMessage[] {
    return this.#opened.history.filter((message) => !this.#isInState(message));
  }

  planOf(request: PlannedRequest): Promise<ModelPlan> {
    return planOf(this.#profile, request, this.#session.observer);
  }

  async make(call: ModelCall): Promise<FormedRequest> {
    const { config, changes, model, system, tools, isWhole = false } = call;
    const planned = call.planned ?? (await this.planOf({ model, system, tools, config }));
    const { plan, profile } = planned;
    this.list.update(call.turn ?? this.#opened.turn);
    await this.openedFor(plan.criteria.profile);
    this.list.update(call.turn ?? this.#opened.turn);
    const besides = this.list.asSent(changes, []).extra;
    const request: ReducerRequest = { model, system, tools, config, besides, isWhole };
    const isOfTurn = (message: BaseMessage) => this.list.isOfTurn(message);
    this.#toFit = { messages: this.list.messages, isOfTurn, request, config };
    const source = this.#opened.state === "stored" ? undefined : windowFor(this.#session, profile);
    if (source !== undefined || this.#isReduced) {
      this.#take(await (await fitting()).fitRequest(this.#session, source, this.#toFit));
    }
    return { planned, ...this.#formed(this.list.asSent(changes), plan) };
  }

  /** True where a reducer that does not know windows limits requests. */
  get #isReduced(): boolean {
    const { reducer, window, reduceWhen } = this.#session.context;
    const isLimited = window === undefined && reducer !== undefined && reduceWhen !== "never";
    return isLimited && this.#opened.state !== "stored";
  }

  /** Makes the list smaller if the request made last was refused; false if it is not to be tried again. */
  async again(error: unknown): Promise<boolean> {
    const toFit = this.#toFit;
    if (toFit === undefined) {
      return false;
    }
    const { fitRefused, isTooLong } = await fitting();
    const { messages } = this.list;
    const fitted = await fitRefused(this.#session, { ...toFit, messages, wasTooLong: this.#wasTooLong }, error);
    this.#wasTooLong ||= isTooLong(error);
    if (fitted !== undefined) {
      this.#take(fitted);
    }
    return fitted !== undefined;
  }

  /** Ids of messages in front of the turn that nothing answers, which may be why its request was refused. */
  async unanswered(): Promise<string[]> {
    const { messages } = this.list;
    const isOfTurn = (message: BaseMessage) => this.list.isOfTurn(message);
    const rest = new Set((await fitting()).withoutUnanswered({ messages, isOfTurn }) ?? messages);
    return idsOf(messages.filter((message) => !rest.has(message)));
  }

  /**
   * An answer of the model to the request made last, under an id that no other message has; keeps with it what the
   * request was thought to take.
   */
  answered<M extends BaseMessage>(answer: M, isInState: (id: string) => boolean = () => false): M {
    const { view, stored } = this.#opened;
    const ids = (this.#knownIds ??= new Set([...view.all, ...stored].map(({ message }) => message.id)));
    const { id } = answer;
    const isKnown = id !== undefined && (ids.has(id) || this.list.hasSeen(id) || isInState(id));
    const own = isKnown || taken.has(answer) ? this.renamed(answer) : answer;
    taken.add(answer).add(own);
    ids.add(own.id);
    this.#wasTooLong = false;
    const { askedAs, size } = this.#measured ?? {};
    if (askedAs !== undefined && size !== undefined && roleOf(own) === "ai") {
      noteAsked(own, askedAs, size.estimate);
      this.#measured = undefined;
    }
    return own;
  }

  /** An answer under an id of its own. */
  renamed<M extends BaseMessage>(answer: M): M {
    const own = changeMessage(answer, { id: randomUUID() });
    const { sessionId, context } = this.#session;
    report(context.onEvent, { type: "answer_renamed", sessionId, messageId: answer.id ?? "", storedAs: own.id! });
    return own;
  }

  #take({ messages, before, measured }: FittedMessages): void {
    this.#measured = measured;
    if (before !== undefined) {
      this.list.replace(messages);
      this.#reducedFrom ??= before;
    }
  }

  /**
   * The turn as a profile's adapter can read it: begins again behind the transcript where the list begins with a
   * compaction that it cannot read.
   */
  async openedFor(profile: StructureProfile): Promise<OpenTurn> {
    const { adapter } = profile;
    const { observer } = this.#session;
    const sealed = sealedIn(this.list.messages, adapter);
    if (sealed === undefined) {
      reportForeign(this.list.messages, profile, observer);
      return this.#opened;
    }
    const { readableTurn, openedMessage } = await reading();
    reportCompaction(sealed, "transcript", observer);
    this.#opened = await readableTurn(this.#session, this.#opened, adapter);
    this.#readFor = adapter;
    this.list.restart(this.#before, (message) => openedMessage(message, adapter));
    return this.#opened;
  }

  /** The messages of a request that a door puts together, within a window of its own. */
  async fitIn(window: ContextWindow, toFit: RequestToFit): Promise<readonly BaseMessage[]> {
    const { fitRequest } = await fitting();
    return (await fitRequest(this.#session, { load: () => window, isTold: true }, toFit)).messages;
  }

  /** The messages of such a request, repaired for its model. */
  repaired(messages: readonly BaseMessage[], plan: RepairPlan): BaseMessage[] {
    const { sessionId } = this.#session;
    return modelInput({ history: messages, turn: [], plan, sessionId, onEvent: this.#onceEach }).history;
  }

  /** Notes what such a request is thought to take. */
  took(measured: MeasuredRequest): MeasuredRequest["size"] {
    this.#measured = measured;
    return measured.size;
  }

  /** The messages in the form that the model takes. */
  #formed({ messages, extra }: SentList, plan: RepairPlan): ModelInput {
    // A reducer puts system messages in front, also those of the turn.
    const first = messages.findIndex(({ message, isOfTurn }) => isOfTurn && roleOf(message) !== "system");
    const all = messages.map(({ message }) => message);
    const split = first < 0 ? all.length : first;
    const { sessionId } = this.#session;
    const parts = { history: all.slice(0, split), turn: [...all.slice(split), ...extra] };
    return modelInput({ plan, sessionId, onEvent: this.#onceEach, ...parts });
  }

  /** Reports each repair once per turn, not per model call. */
  readonly #onceEach: MemoryEventHandler = (event) => {
    const key = JSON.stringify(event);
    if (!this.#reported.has(key)) {
      this.#reported.add(key);
      report(this.#session.context.onEvent, event);
    }
  };
}

/** A list for a request, and the messages that others than the memory add to it. */
export interface SentList {
  readonly messages: readonly { readonly message: BaseMessage; readonly isOfTurn: boolean }[];
  readonly extra: readonly BaseMessage[];
}

/** The state of a loop, and its messages as another middleware has changed them for the request. */
export interface SentState {
  readonly state: readonly BaseMessage[];
  readonly sent: readonly BaseMessage[];
}

/** The model's list during a turn: the view in front of it, and its own messages. */
class TurnList {
  /** Latest version of each message of the turn: another middleware may change it. */
  readonly #newest = new Map<string, BaseMessage>();
  #list: BaseMessage[];
  /** The form in which messages of the turn are read. */
  #form: (message: BaseMessage) => BaseMessage = (message) => message;

  constructor(before: readonly BaseMessage[]) {
    this.#list = [...before];
  }

  get messages(): readonly BaseMessage[] {
    return this.#list;
  }

  /** True for the latest version of a message of the turn. */
  isOfTurn(message: BaseMessage): boolean {
    return this.#newest.get(messageIdOf(message)) === message;
  }

  /** True for the id of a message that is or was of the turn. */
  hasSeen(id: string | undefined): boolean {
    return id !== undefined && this.#newest.has(id);
  }

  /** Begins again behind another list; `form` gives each message of the turn, the same object for the same message. */
  restart(before: readonly BaseMessage[], form: (message: BaseMessage) => BaseMessage): void {
    this.#list = [...before];
    this.#form = form;
    this.#newest.clear();
  }

  replace(messages: readonly BaseMessage[]): void {
    this.#list = [...messages];
  }

  /** Updates the turn's messages: appends new ones, replaces changed ones. */
  update(turn: readonly BaseMessage[]): void {
    const renewed = new Map<BaseMessage, BaseMessage>();
    for (const message of turn.map((each) => this.#form(each))) {
      const id = messageIdOf(message);
      const before = this.#newest.get(id);
      if (before === undefined) {
        this.#list.push(message);
      } else if (before !== message) {
        renewed.set(before, message);
      }
      this.#newest.set(id, message);
    }
    if (renewed.size > 0) {
      this.#list = this.#list.map((message) => renewed.get(message) ?? message);
    }
    this.#list = fromCompaction(this.#list, (message) => message) as BaseMessage[];
  }

  /**
   * The list, or another one of its messages, with the changes of another middleware: replaced, removed and appended
   * messages.
   */
  asSent(changes: SentState | undefined, all: readonly BaseMessage[] = this.messages): SentList {
    const list = all.map((message) => ({ message, isOfTurn: this.isOfTurn(message) }));
    if (changes === undefined || changes.sent === changes.state) {
      return { messages: list, extra: [] };
    }
    const { state, sent } = changes;
    const inState = new Set(idsOf(state));
    const byId = new Map(sent.map((message) => [message.id, message]));
    const messages = list.flatMap((entry) => {
      const { id } = entry.message;
      if (!entry.isOfTurn || id === undefined || !inState.has(id)) {
        return [entry];
      }
      const changed = byId.get(id);
      return changed === undefined ? [] : [{ message: changed, isOfTurn: true }];
    });
    return { messages, extra: sent.filter(({ id }) => id === undefined || !inState.has(id)) };
  }
}
