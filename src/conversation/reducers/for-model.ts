import type { CallbackManagerForChainRun } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { MemoryEvent } from "../../base/events.js";
import { lazy } from "../../base/options.js";
import { fieldsOf, stringIn } from "../messages/values.js";
import { type RepairOptions, resolveRepairOptions } from "../structure/options.js";
import { langchainGuide } from "../structure/profiles/langchain.js";
import { repairAs } from "../structure/repair/repair.js";
import { storedField } from "./as-reducer.js";
import { isPrompt, messagesOf, type ReducerInput } from "./chat-history-reducer.js";

/** The run of a trimmer. */
export interface TrimmerRun {
  readonly config: Partial<RunnableConfig> | undefined;
  readonly runManager: CallbackManagerForChainRun | undefined;
}

/** The rules of LangChain's guide: first message, last message, results behind their calls. */
const rules: RepairOptions = { profile: langchainGuide, purpose: "model-input" };
const plan = lazy(() => resolveRepairOptions("trimmer", rules));
const planOfPrompt = lazy(() => resolveRepairOptions("trimmer", { ...rules, trailingMessages: "fill" }));

/**
 * The messages that a trimmer makes of its input, repaired where they break a rule of LangChain's guide: in front of
 * it, so that it measures what is sent, and behind it. A prompt is a request, which ends with a message of the user or
 * a tool result; other messages may end with an answer, because their question may come behind them. Repairs are the
 * custom event `repaired` of the run, in the form of the memory's event.
 */
export async function forModel(
  input: ReducerInput,
  { config, runManager }: TrimmerRun,
  trim: (messages: BaseMessage[]) => BaseMessage[] | Promise<BaseMessage[]>,
): Promise<BaseMessage[]> {
  const inputMessages = messagesOf(input);
  const configurable = fieldsOf(config?.configurable);
  if (inputMessages.length === 0 || configurable[storedField] === true) {
    return [...(await trim(inputMessages))];
  }
  const before = repairAs(plan(), inputMessages);
  const { messages, repairs } = repairAs(isPrompt(input) ? planOfPrompt() : plan(), await trim(before.messages));
  const broken = new Set([...before.repairs, ...repairs].map(({ rule }) => rule));
  if (broken.size > 0) {
    const sessionId = stringIn(configurable["sessionId"]) ?? stringIn(configurable["thread_id"]) ?? "";
    const event: MemoryEvent = { type: "repaired", sessionId, rules: [...broken] };
    await runManager?.handleCustomEvent(event.type, event);
  }
  return messages;
}
