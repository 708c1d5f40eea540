import {
  type BaseMessage,
  type BaseMessageLike,
  coerceMessageLikeToMessage,
  RemoveMessage,
} from "@langchain/core/messages";
import { roleOf } from "../messages/roles.js";
import { isRecord } from "../messages/values.js";
import { firstOfBlock } from "../turns/new-input.js";
import { idsOf, removeAll } from "./state.js";
import type { StepConfig } from "./end-watch.js";
import { namespaceOf } from "./run-place.js";

interface Checkpoint {
  readonly checkpoint?: { readonly channel_values?: Readonly<Record<string, unknown>> };
  readonly metadata?: { readonly source?: string; readonly step?: number };
  readonly parentConfig?: object;
}

interface Checkpointer {
  getTuple(config: object): Promise<Checkpoint | undefined>;
}

/** Pauses before reads of a checkpoint, in milliseconds: LangGraph writes checkpoints asynchronously. */
const pausesMs = [0, 10, 50, 200];

/** A state with reordered messages. */
export interface Reordered {
  readonly messages: BaseMessage[];
  /** State update that produces the new order. */
  readonly update: BaseMessage[];
}

/**
 * Moves the question of a run to the end of its state. With a checkpointer, a repeated question (a retry, an edit)
 * keeps its old place in the state, and the run would continue behind the state's last question. Undefined if nothing
 * has to move, or if the checkpointer does not hold the run's input (durability `exit`).
 */
export async function movedQuestion(state: readonly BaseMessage[], config: StepConfig): Promise<Reordered | undefined> {
  const question = state.findLastIndex((message) => roleOf(message) === "human");
  const input = await inputOf(config).catch(() => undefined);
  const asked = input?.findLastIndex((message) => roleOf(message) === "human") ?? -1;
  const id = input?.[asked]?.id;
  const at = id === undefined ? -1 : state.findIndex((message) => message.id === id);
  if (input === undefined || at < 0 || at === question) {
    return undefined;
  }
  const block = new Set(idsOf(input.slice(firstOfBlock(input, asked), asked + 1)));
  const isOfBlock = (message: BaseMessage) => message.id !== undefined && block.has(message.id);
  const messages = [...state.filter((message) => !isOfBlock(message)), ...state.filter(isOfBlock)];
  return { messages, update: [new RemoveMessage({ id: removeAll }), ...messages] };
}

/** The input messages of a run, from its first checkpoint. */
async function inputOf(config: StepConfig): Promise<BaseMessage[] | undefined> {
  const given = (await firstCheckpoint(config))?.checkpoint?.channel_values?.["__start__"];
  const messages = isRecord(given) ? given["messages"] : undefined;
  const list = Array.isArray(messages) ? messages : [messages];
  return messages === undefined ? undefined : list.map((like) => coerceMessageLikeToMessage(like as BaseMessageLike));
}

async function firstCheckpoint(config: StepConfig): Promise<Checkpoint | undefined> {
  const { configurable = {}, metadata = {} } = config;
  const checkpointer = configurable["__pregel_checkpointer"] as Partial<Checkpointer> | undefined;
  if (typeof checkpointer?.getTuple !== "function") {
    return undefined;
  }
  // Two steps precede this hook's: the input, and its application to the state.
  const first = Number(metadata["langgraph_step"]) - 2;
  const newest = { configurable: { thread_id: configurable["thread_id"], checkpoint_ns: namespaceOf(config) } };
  let found: Checkpoint | undefined;
  for (let attempt = 0; stepOf(found) < first && attempt < pausesMs.length; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, pausesMs[attempt]));
    found = await checkpointer.getTuple(newest);
  }
  while (stepOf(found) > first && found?.parentConfig !== undefined) {
    found = await checkpointer.getTuple(found.parentConfig);
  }
  return stepOf(found) === first && found?.metadata?.source === "input" ? found : undefined;
}

function stepOf(checkpoint: Checkpoint | undefined): number {
  return checkpoint?.metadata?.step ?? -Infinity;
}
