import type { BaseMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { z } from "zod";
import { repairConversation, resolveRepairOptions, type RepairOptions } from "../structure/repair/repair.js";
import { throwOnErrors, validateConversation } from "../structure/validate.js";
import type { StructureIssue } from "../structure/rules/rules.js";
import type { StructureRepair } from "../structure/repair/repair-session.js";
import { anyFunction, lazy, parseOptions } from "../options.js";
import { messagesOf, type ReducerInput } from "./reducer-input.js";

/** What a {@link conversationGuard} does with messages that break rules. */
export interface ConversationGuardOptions extends RepairOptions {
  /**
   * `throw` refuses messages with errors; `repair` gives the repaired messages, and refuses those that cannot be
   * repaired; `report` lets all messages pass and only tells `onIssues`.
   */
  readonly mode: "throw" | "repair" | "report";
  /** Called with all issues, warnings included, before anything is done about them; not called where there are none. */
  readonly onIssues?: (issues: readonly StructureIssue[]) => void;
  /** Called with what a repair changed; not called where it changed nothing. */
  readonly onRepairs?: (repairs: readonly StructureRepair[]) => void;
}

const anything = lazy(() => z.unknown().optional());

const guardOptions = lazy(() =>
  z.strictObject({
    mode: z.enum(["throw", "repair", "report"], "must be throw, repair or report"),
    onIssues: anyFunction<(issues: readonly StructureIssue[]) => void>().optional(),
    onRepairs: anyFunction<(repairs: readonly StructureRepair[]) => void>().optional(),
    profile: anything(),
    purpose: anything(),
    hasTools: anything(),
    storesReasoning: anything(),
    missingResults: anything(),
    missingResultText: anything(),
    emptyMessages: anything(),
    systemMessages: anything(),
    leadingMessages: anything(),
    trailingMessages: anything(),
    unknownRoles: anything(),
  }),
);

/**
 * A Runnable that stands before a model and sees to it that the messages have the structure that providers accept. The
 * messages themselves are never changed: a repair gives other ones. Directly before a model, say `purpose:
 * "model-input"`.
 *
 * @throws ConfigurationError for an option that cannot be used. What it throws when run: StructureError.
 * @example
 * const chain = prompt.pipe(reducer).pipe(conversationGuard({ mode: "repair", purpose: "model-input" })).pipe(model);
 */
export function conversationGuard(options: ConversationGuardOptions): Runnable<ReducerInput, BaseMessage[]> {
  parseOptions("conversationGuard", guardOptions(), options);
  resolveRepairOptions(options);
  return new ConversationGuard(options);
}

class ConversationGuard extends Runnable<ReducerInput, BaseMessage[]> {
  override lc_namespace: string[] = ["langchain_redis_memory", "reducers"];
  readonly #options: ConversationGuardOptions;

  constructor(options: ConversationGuardOptions) {
    super();
    this.#options = options;
  }

  /** The class's name in traces, which a bundler would shorten. */
  static override lc_name(): string {
    return "ConversationGuard";
  }

  override async invoke(input: ReducerInput, config?: Partial<RunnableConfig>): Promise<BaseMessage[]> {
    return this._callWithConfig(async (given: ReducerInput) => this.#guard(messagesOf(given)), input, config);
  }

  #guard(messages: BaseMessage[]): BaseMessage[] {
    const { mode, onIssues, onRepairs, ...options } = this.#options;
    const issues = validateConversation(messages, options);
    if (issues.length > 0) {
      onIssues?.(issues);
    }
    if (mode === "throw") {
      throwOnErrors(issues);
    }
    if (mode !== "repair") {
      return messages;
    }
    const repaired = repairConversation(messages, options);
    if (repaired.repairs.length > 0) {
      onRepairs?.(repaired.repairs);
    }
    throwOnErrors(validateConversation(repaired.messages, options));
    return repaired.messages;
  }
}
