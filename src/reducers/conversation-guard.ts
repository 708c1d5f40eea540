import type { BaseMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import * as z from "zod/mini";
import { repairAs } from "../structure/repair/repair.js";
import { repairFields, toRepairPlan, type RepairOptions, type RepairPlan } from "../structure/options.js";
import { findIssues } from "../structure/rules/find-issues.js";
import { throwOnErrors } from "../structure/validate.js";
import type { StructureIssue } from "../structure/rules/rules.js";
import type { StructureRepair } from "../structure/repair/session.js";
import { anyFunction, lazy, parseOptions, type SchemaOutput } from "../base/options.js";
import { messagesOf, type ReducerInput } from "./chat-history-reducer.js";

/** Options of {@link conversationGuard}. */
export interface ConversationGuardOptions extends RepairOptions {
  /**
   * `throw` refuses messages with errors; `repair` returns the repaired messages, and refuses those that cannot be
   * repaired; `report` returns all messages unchanged and only calls `onIssues`.
   */
  readonly mode: "throw" | "repair" | "report";
  /** Called with all issues, warnings included, before anything is done about them; not called if there are none. */
  readonly onIssues?: (issues: readonly StructureIssue[]) => void;
  /** Called with the changes of a repair; not called if there are none. */
  readonly onRepairs?: (repairs: readonly StructureRepair[]) => void;
}

const guardOptions = lazy(() =>
  z.strictObject({
    mode: z.enum(["throw", "repair", "report"], 'must be "throw", "repair" or "report"'),
    onIssues: z.optional(anyFunction<(issues: readonly StructureIssue[]) => void>()),
    onRepairs: z.optional(anyFunction<(repairs: readonly StructureRepair[]) => void>()),
    ...repairFields(),
  }),
);

/**
 * Creates a Runnable that validates or repairs the structure of messages in front of a model. Never mutates its input:
 * a repair returns new messages. Directly before a model, set `purpose: "model-input"`.
 *
 * @throws ConfigurationError naming the option. `invoke` throws StructureError.
 * @example
 * import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { conversationGuard } from "langchain-redis-memory/structure";
 *
 * const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], ["placeholder", "{history}"]]);
 * const guard = conversationGuard({ mode: "repair", profile: "anthropic", purpose: "model-input" });
 * export const chainWith = (model: BaseChatModel) => prompt.pipe(guard).pipe(model);
 */
export function conversationGuard(options: ConversationGuardOptions): Runnable<ReducerInput, BaseMessage[]> {
  const { mode, onIssues, onRepairs, ...fields } = parseOptions("conversationGuard", guardOptions(), options);
  return new ConversationGuard({ mode, onIssues, onRepairs, plan: toRepairPlan("conversationGuard", fields) });
}

interface GuardSettings extends Pick<SchemaOutput<typeof guardOptions>, "mode" | "onIssues" | "onRepairs"> {
  readonly plan: RepairPlan;
}

class ConversationGuard extends Runnable<ReducerInput, BaseMessage[]> {
  override lc_namespace = ["langchain_redis_memory", "reducers"];
  readonly #settings: GuardSettings;

  constructor(settings: GuardSettings) {
    super();
    this.#settings = settings;
  }

  /** The class's name in traces, which a bundler would shorten. */
  static override lc_name(): string {
    return "ConversationGuard";
  }

  override async invoke(input: ReducerInput, config?: Partial<RunnableConfig>): Promise<BaseMessage[]> {
    return this._callWithConfig(async (given: ReducerInput) => this.#guard(messagesOf(given)), input, config);
  }

  #guard(messages: BaseMessage[]): BaseMessage[] {
    const { mode, onIssues, onRepairs, plan } = this.#settings;
    const issues = findIssues(messages, plan.criteria);
    if (issues.length > 0) {
      onIssues?.(issues);
    }
    if (mode === "throw") {
      throwOnErrors(issues);
    }
    if (mode !== "repair") {
      return messages;
    }
    const repaired = repairAs(plan, messages);
    if (repaired.repairs.length > 0) {
      onRepairs?.(repaired.repairs);
    }
    throwOnErrors(findIssues(repaired.messages, plan.criteria));
    return repaired.messages;
  }
}
