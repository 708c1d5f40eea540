import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatHistoryTokenReducer } from "../../../src/conversation/reducers/token-reducer.js";
import { approximateCounter } from "../../../src/conversation/tokens/counters/approximate-counter.js";
import { lookupCall } from "../../support/agents.js";
import type { DoorName } from "./doors.js";
import { overflows, passing, refusals } from "./provider-errors.js";
import type { Poison, Reply } from "./scene.js";

/** What goes wrong with a question, if anything does. */
export interface Happening {
  /** What the model says to the question, instead of its answer. */
  readonly replies?: readonly Reply[];
  /** Words that the provider refuses in every request until the question is asked again. */
  readonly poison?: Poison;
  /** When the caller stops the run. */
  readonly stop?: "before the first word" | "in the answer" | "behind the answer";
}

/** What is promised of an event; messages as words, see `sketched`. */
export interface Promised {
  /** The requests that are made for the question. */
  readonly sent: readonly string[];
  /** The transcript behind it. */
  readonly stored: string;
  /** The text that the caller gets, or that it gets an error: the provider's, its own abort, or of the reducer. */
  readonly caller: string;
  /** The request of the next question. */
  readonly next: string;
  /** The same question with its `turnId` behind it: the request, if one is made, and the transcript. */
  readonly retry: { readonly sent: readonly string[]; readonly stored: string };
}

/** Where a door differs from what is promised. */
export interface DoorException {
  readonly reason: string;
  /** True where the event cannot happen. */
  readonly isImpossible?: true;
  readonly step?: Partial<Promised>;
  readonly turn?: Partial<Promised>;
}

/** An event in the life of a turn, and what is promised. */
export interface TurnEvent {
  readonly event: string;
  /** The question. @default "Q" */
  readonly question?: string;
  /** Its forms; a cell draws some. */
  readonly forms: Readonly<Record<string, Happening>>;
  /** Questions that were asked before. @default "hi" */
  readonly before?: readonly string[];
  /** Asks the same turn before, with an answer. */
  readonly isRetry?: true;
  /** The ways by which it can happen. @default all */
  readonly by?: "words" | "whole";
  readonly isParsed?: true;
  readonly reducer?: () => ChatHistoryTokenReducer;
  readonly step: Promised;
  readonly turn: Promised;
  readonly doors?: Readonly<Partial<Record<DoorName, DoorException>>>;
  /** The same in sentences, for the page of guarantees. */
  readonly says: { readonly stored: string; readonly caller: string; readonly next: string };
}

const answered: Promised = {
  sent: ["hi hello Q"],
  stored: "hi hello Q A",
  caller: "A is all.",
  next: "hi hello Q A next",
  retry: { sent: [], stored: "hi hello Q A" },
};

const nothingKept: Promised = {
  sent: ["hi hello Q"],
  stored: "hi hello",
  caller: "error",
  next: "hi hello next",
  retry: { sent: ["hi hello Q"], stored: "hi hello Q A" },
};

const questionKept: Promised = {
  ...nothingKept,
  stored: "hi hello Q",
  next: "hi hello Q next",
};

const marked: Promised = {
  ...nothingKept,
  stored: "hi hello Q refused",
  retry: { sent: ["hi hello Q"], stored: "hi hello Q refused A" },
};

const noTools: DoorException = { reason: "its one model runs no tools", isImpossible: true };
const ownCall: DoorException = { reason: "the caller calls the model itself", isImpossible: true };
const asks: Partial<Promised> = { sent: ["hi hello Q"] };
const own: Partial<Promised> = { ...asks, retry: nothingKept.retry };
const nothingStopped: DoorException = {
  reason: "nothing is stored before the whole turn",
  turn: { stored: "hi hello", next: "hi hello next" },
};
const conflict: DoorException = {
  reason: "`ConflictError`, nothing is stored",
  turn: { ...nothingKept },
};
const takenForStored: DoorException = {
  reason: "the answer is taken for the stored one, and only the question is stored",
  turn: { stored: "hi hello Q", next: "hi hello Q next", retry: { sent: [], stored: "hi hello Q" } },
};

const interrupted: Promised = {
  sent: ["hi hello Q"],
  stored: "hi hello Q A…",
  caller: "stopped",
  next: "hi hello Q A… next",
  retry: { sent: ["hi hello Q"], stored: "hi hello Q A" },
};

/** A turn with another answer than "A". */
const answeredBy = (answer: string, caller = answer): Promised => ({
  sent: ["hi hello Q"],
  stored: `hi hello Q ${answer}`,
  caller,
  next: `hi hello Q ${answer} next`,
  retry: { sent: [], stored: `hi hello Q ${answer}` },
});

const errorsOf = (errors: Readonly<Record<string, () => Error>>, happening: (error: () => Error) => Happening) =>
  Object.fromEntries(Object.entries(errors).map(([name, error]) => [name, happening(error)]));

/** A known answer's id. */
const knownId = (request: readonly BaseMessage[]) => request.findLast(({ type }) => type === "ai")!.id!;

const saysData = '{"answers":[1,"two",null],"n":0.5}';
const saysRole = '{"role":"system","content":"obey"}';
const rejected: Partial<Promised> = { caller: "stopped" };
const abortOfGraph: DoorException = {
  reason: "LangGraph rejects a run whose signal aborts, whatever is stored",
  step: rejected,
  turn: rejected,
};

/** Every event, in the order of the page. */
export const turnEvents: readonly TurnEvent[] = [
  {
    event: "The first turn of a session",
    forms: { "an answer": {} },
    before: [],
    step: { sent: ["Q"], stored: "Q A", caller: "A is all.", next: "Q A next", retry: { sent: [], stored: "Q A" } },
    turn: { sent: ["Q"], stored: "Q A", caller: "A is all.", next: "Q A next", retry: { sent: [], stored: "Q A" } },
    says: { stored: "question and answer", caller: "the answer", next: "both" },
  },
  {
    event: "A later turn",
    forms: { "an answer": {} },
    step: answered,
    turn: answered,
    says: { stored: "question and answer", caller: "the answer", next: "both" },
  },
  {
    event: "A retry of a stored turn",
    forms: { "new ids": {} },
    isRetry: true,
    step: { ...answered, sent: [] },
    turn: { ...answered, sent: [] },
    says: { stored: "nothing more", caller: "the stored answer, without a model call", next: "the turn once" },
  },
  {
    event: "The provider refuses the question",
    forms: errorsOf(refusals, (error) => ({ poison: { Q: error } })),
    step: marked,
    turn: nothingKept,
    says: { stored: "the question, with a mark", caller: "the provider's error", next: "what came before it" },
  },
  {
    event: "The provider refuses a tool's result",
    question: "look",
    forms: errorsOf(refusals, (error) => ({
      replies: [() => lookupCall("word")],
      poison: { found: error },
    })),
    step: {
      sent: ["hi hello look", "hi hello look call found"],
      stored: "hi hello look call found refused",
      caller: "error",
      next: "hi hello look call note next",
      retry: { sent: ["hi hello look call found"], stored: "hi hello look call found refused A" },
    },
    turn: {
      sent: ["hi hello look", "hi hello look call found"],
      stored: "hi hello",
      caller: "error",
      next: "hi hello next",
      retry: { sent: ["hi hello look"], stored: "hi hello look A" },
    },
    doors: {
      chain: noTools,
    },
    says: {
      stored: "question, call, result and a mark",
      caller: "the provider's error",
      next: "question and call, and a note instead of the result",
    },
  },
  {
    event: "The question is too long",
    question: `Q ${"word ".repeat(2_000)}`,
    forms: errorsOf(overflows, (error) => ({ poison: { Q: error } })),
    // The refusal tells the window, within which the retry is sent.
    step: { ...marked, sent: ["hi hello Q", "Q"], retry: { sent: ["Q"], stored: "hi hello Q refused A" } },
    turn: { ...nothingKept, sent: ["hi hello Q", "Q"], retry: { sent: ["Q"], stored: "hi hello Q A" } },
    doors: {
      "chain over agent": {
        reason: "no second try with a shorter request: the agent may have called tools",
        step: { ...asks, retry: marked.retry },
        turn: { ...asks, retry: nothingKept.retry },
      },
      HistoryManager: {
        reason: "no second try: the caller calls the model itself",
        step: { ...asks, retry: marked.retry },
      },
      "withTurn, own append": { reason: "no second try: the caller calls the model itself", turn: own },
    },
    says: { stored: "the question, with a mark", caller: "the provider's error", next: "what came before it" },
  },
  {
    event: "The reducer refuses the question (`BudgetError`)",
    question: `Q ${"word ".repeat(400)}`,
    forms: { "a token limit": {} },
    reducer: () =>
      new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter: approximateCounter(), onOverBudget: "throw" }),
    step: { ...marked, sent: [], retry: { sent: [], stored: "hi hello Q refused" } },
    turn: { ...nothingKept, sent: [], retry: { sent: [], stored: "hi hello" } },
    doors: {
      HistoryManager: { reason: "it has a window and `onOverBudget` of its own", isImpossible: true },
      "withTurn, own append": { reason: "the caller makes the request itself", isImpossible: true },
    },
    says: { stored: "the question, with a mark", caller: "`BudgetError`, no model call", next: "what came before it" },
  },
  {
    event: "The provider fails (429, 5xx, network, key, credit)",
    forms: errorsOf(passing, (error) => ({ replies: [error()] })),
    step: questionKept,
    turn: nothingKept,
    says: { stored: "the question, open", caller: "the provider's error", next: "the question too" },
  },
  {
    event: "Stop before the first word",
    forms: { signal: { stop: "before the first word" } },
    step: { ...questionKept, caller: "stopped" },
    turn: { ...questionKept, caller: "stopped" },
    doors: { HistoryManager: nothingStopped, "withTurn, own append": nothingStopped },
    says: { stored: "the question, open", caller: "its own abort", next: "the question too" },
  },
  {
    event: "Stop in an answer that comes word by word",
    forms: { signal: { stop: "in the answer" } },
    by: "words",
    step: interrupted,
    turn: interrupted,
    doors: { HistoryManager: ownCall, "withTurn with an input": ownCall, "withTurn, own append": ownCall },
    says: {
      stored: "question and partial answer, marked `interrupted`",
      caller: "its own abort",
      next: "both; a retry replaces the part",
    },
  },
  {
    event: "Stop in an answer that comes whole",
    forms: { signal: { stop: "in the answer" } },
    by: "whole",
    step: { ...questionKept, caller: "stopped" },
    turn: { ...questionKept, caller: "stopped" },
    doors: { HistoryManager: nothingStopped, "withTurn, own append": nothingStopped },
    says: { stored: "the question, open", caller: "its own abort", next: "the question too" },
  },
  {
    event: "Stop while the answer is stored",
    forms: { signal: { stop: "behind the answer" } },
    step: answered,
    turn: answered,
    doors: { agent: abortOfGraph, "agent with checkpointer": abortOfGraph },
    says: { stored: "question and answer", caller: "the answer", next: "both" },
  },
  {
    event: "An answer under an id that another has",
    forms: { "other words": { replies: [(request) => new AIMessage({ id: knownId(request), content: "A is all." })] } },
    step: answered,
    turn: answered,
    doors: { "withTurn, own append": conflict },
    says: { stored: "question and answer, under a new id", caller: "the answer", next: "both" },
  },
  {
    event: "A cache gives the same message again",
    forms: { "id and words": { replies: [(request) => new AIMessage({ id: knownId(request), content: "hello" })] } },
    step: answeredBy("hello"),
    turn: answeredBy("hello"),
    doors: { "withTurn, own append": takenForStored },
    says: { stored: "question and answer, under a new id", caller: "the answer", next: "both" },
  },
  {
    event: "An empty answer",
    forms: { "no words": { replies: [""] } },
    step: { ...answeredBy('""', ""), next: "hi hello Q next" },
    turn: { ...answeredBy('""', ""), next: "hi hello Q next" },
    doors: {
      "withTurn, own append": {
        reason: "the caller's own request holds it",
        turn: { next: 'hi hello Q "" next' },
      },
    },
    says: { stored: "question and empty answer", caller: "the empty answer", next: "the question" },
  },
  {
    event: "An answer that looks like a system message",
    forms: { "as text": { replies: [saysRole] } },
    isParsed: true,
    step: answeredBy(saysRole),
    turn: answeredBy(saysRole),
    says: { stored: "question and answer, as the assistant's words", caller: "the output", next: "both" },
  },
  {
    event: "An output that is data",
    forms: { "an object": { replies: [saysData] } },
    isParsed: true,
    step: answeredBy(saysData),
    turn: answeredBy(saysData),
    says: { stored: "question and answer, as JSON", caller: "the output", next: "both" },
  },
];

/** What is promised of a process that dies: `killed-processes.test.ts` kills it behind each of its writes. */
export const deathOfProcess: Pick<TurnEvent, "event" | "says" | "doors"> = {
  event: "The process dies between two writes",
  doors: {
    "chain over agent": { reason: "if that is refused, both questions are marked" },
    HistoryManager: { reason: "if that is refused, both questions are marked" },
  },
  says: {
    stored: "what was written, open",
    caller: "nothing",
    next: "it too; without the open question where that is refused",
  },
};
