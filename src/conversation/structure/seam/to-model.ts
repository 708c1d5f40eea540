import type { BaseMessage } from "@langchain/core/messages";
import { type AnswerPrefix, type LedgerWalk, type PrefixParts, walkLedger } from "../ledger.js";
import type { RepairChoices } from "../options.js";
import type { StructureProfile } from "../profiles/profile.js";
import { repairRequest } from "../repair/repair.js";
import type { StructureRepair } from "../repair/session.js";
import { planFor, planForModel } from "./model-input.js";
import type { ModelProfile } from "./profile-of.js";

/** The request that {@link toModel} makes messages ready for. */
export interface ToModelOptions extends PrefixParts {
  /** The model that is called, as it is called: with its bound tools, fallbacks and retries. */
  readonly model: unknown;
  /** Choices where a rule can be repaired in several ways. */
  readonly repair?: Partial<RepairChoices>;
  /** The config of the call, for models that `initChatModel` makes by it. @default none */
  readonly config?: object;
}

/** Messages as a model takes them. */
export interface ToModelResult {
  /** A new array; unchanged messages are the same objects. */
  readonly messages: BaseMessage[];
  /** One entry per change. */
  readonly repairs: readonly StructureRepair[];
  /** Number of thoughts that were left out because they were made behind something else. */
  readonly thinkingDropped: number;
  /** The prefix of the answer, for `stampAnswer`; undefined for models that do not bind their thoughts. */
  readonly prefix: AnswerPrefix | undefined;
  /** Properties derived from the model. */
  readonly profile: ModelProfile;
}

/**
 * Makes messages ready for one model, last before it is called: repaired for its profile, in the form that its adapter
 * reads, and, for models that bind their thoughts, without thoughts that were made behind something else. The messages
 * are not changed.
 *
 * @example
 * import { ChatAnthropic } from "@langchain/anthropic";
 * import type { BaseMessage } from "@langchain/core/messages";
 * import { toModel, type ToModelOptions, type ToModelResult } from "langchain-redis-memory/structure";
 *
 * const model = new ChatAnthropic({ model: "claude-sonnet-5-5" });
 * const options: ToModelOptions = { model, tools: [] };
 * export const ask = async (view: BaseMessage[]) => {
 *   const { messages }: ToModelResult = await toModel(view, options);
 *   return model.invoke(messages);
 * };
 */
export async function toModel(messages: readonly BaseMessage[], options: ToModelOptions): Promise<ToModelResult> {
  return (await readyFor(messages, options)).result;
}

/** Messages as a model takes them, and how they came to be. */
interface ReadyMessages {
  readonly result: ToModelResult;
  /** The repaired messages in front of the walk. */
  readonly repaired: readonly BaseMessage[];
  /** Undefined for a model that does not bind its thoughts. */
  readonly walk: LedgerWalk | undefined;
}

/** {@link toModel} with its walk; for a named profile in place of the model's. */
export async function readyFor(
  messages: readonly BaseMessage[],
  { model, system, tools, repair, config }: ToModelOptions,
  named?: StructureProfile,
): Promise<ReadyMessages> {
  const { plan, profile } = await planForModel("toModel", { model, system, tools, config, choices: repair });
  const { messages: repaired, repairs } = repairRequest(
    named === undefined ? plan : planFor(named, plan.criteria.marks),
    messages,
  );
  if (!profile.bindsThoughts) {
    const result = { messages: repaired, repairs, thinkingDropped: 0, prefix: undefined, profile };
    return { result, repaired, walk: undefined };
  }
  const walk = walkLedger(repaired, { system, tools: tools ?? profile.tools });
  const result = {
    messages: walk.messages,
    repairs: [...repairs, ...boundRepairs(messages, repaired, walk)],
    thinkingDropped: walk.dropped,
    prefix: walk.prefix,
    profile,
  };
  return { result, repaired, walk };
}

/** The repairs that a walk made, at the messages as they were given. */
function boundRepairs(
  messages: readonly BaseMessage[],
  repaired: readonly BaseMessage[],
  walk: LedgerWalk,
): StructureRepair[] {
  const places = new Map(messages.map((message, index) => [message.id ?? message, index]));
  return repaired.flatMap((message, at) => {
    const index = places.get(message.id ?? message) ?? Math.min(at, messages.length - 1);
    const done = "Left out thoughts that were made behind something else.";
    return message === walk.messages[at] ? [] : [{ rule: "S32", index, action: "changed", message: done } as const];
  });
}
