import type { BaseMessage } from "@langchain/core/messages";
import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { z } from "zod";
import {
  resolveStructureOptions,
  throwOnErrors,
  validateConversation,
  type StructureIssue,
  type StructureOptions,
} from "../conversation/structure/index.js";
import { anyFunction, parseOptions } from "../options.js";
import { messagesOf, type ReducerInput } from "./reducer-input.js";

/** What a {@link conversationGuard} does with messages that break rules. */
export interface ConversationGuardOptions extends StructureOptions {
  /** `throw` refuses messages with errors, `report` lets all messages pass and only tells `onIssues`. */
  readonly mode: "throw" | "report";
  /** Called with all issues, warnings included, before anything is done about them; not called where there are none. */
  readonly onIssues?: (issues: readonly StructureIssue[]) => void;
}

const guardOptions = z.strictObject({
  mode: z.enum(["throw", "report"], "must be throw or report"),
  profile: z.unknown().optional(),
  purpose: z.unknown().optional(),
  onIssues: anyFunction<(issues: readonly StructureIssue[]) => void>().optional(),
});

/**
 * A Runnable that stands before a model and sees to it that the messages have the structure that providers accept.
 *
 * @throws ConfigurationError for an option that cannot be used. What it throws when run: StructureError.
 * @example
 * const chain = prompt.pipe(reducer).pipe(conversationGuard({ mode: "throw", purpose: "model-input" })).pipe(model);
 */
export function conversationGuard(options: ConversationGuardOptions): Runnable<ReducerInput, BaseMessage[]> {
  parseOptions("conversationGuard", guardOptions, options);
  resolveStructureOptions(options);
  return new ConversationGuard(options);
}

class ConversationGuard extends Runnable<ReducerInput, BaseMessage[]> {
  override lc_namespace = ["langchain_redis_memory", "reducers"];
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
    const { mode, onIssues, ...options } = this.#options;
    const issues = validateConversation(messages, options);
    if (issues.length > 0) {
      onIssues?.(issues);
    }
    if (mode === "throw") {
      throwOnErrors(issues);
    }
    return messages;
  }
}
