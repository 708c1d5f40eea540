import type { BaseMessage } from "@langchain/core/messages";
import { type Runnable, RunnableLambda } from "@langchain/core/runnables";
import * as z from "zod/mini";
import { repairFields, resolveRepairOptions, resolveProfileChoice } from "../structure/options.js";
import type { RepairOptions, RepairPlan } from "../structure/options.js";
import { langchainGuide } from "../structure/profiles/neutral.js";
import { repairAs } from "../structure/repair/repair.js";
import { findIssues } from "../structure/rules/find-issues.js";
import { planForModel } from "../structure/seam/model-input.js";
import { throwOnErrors } from "../structure/validate.js";
import type { StructureIssue } from "../structure/rules/rules.js";
import type { StructureRepair } from "../structure/repair/session.js";
import { anyFunction, lazy, parseOptions, type SchemaOutput } from "../../base/options.js";
import { messagesOf, type ReducerInput } from "./chat-history-reducer.js";

/** Options of {@link conversationGuard}. */
export interface ConversationGuardOptions extends Omit<RepairOptions, "profile" | "model" | "purpose"> {
  /**
   * Purpose of the messages. A `model-input` ends with a user message or a tool result, and has no open call; a
   * `history` may end with an AI message, or with calls that the runtime will still answer. @default "model-input"
   */
  readonly purpose?: RepairOptions["purpose"];
  /**
   * The profile whose rules hold; `"auto"`: that of `model`, which is then the model that is called, and where it is
   * not given or not known the neutral one. `langchain` holds the three rules of LangChain's guide.
   * @default "auto" with a model that is called, else "langchain"
   */
  readonly profile?: RepairOptions["profile"] | "auto";
  /** The model that is called, with its bindings, or the name of the model. @default not known */
  readonly model?: unknown;
  /**
   * `throw` refuses messages with errors; `repair` returns the repaired messages, and refuses those that cannot be
   * repaired; `report` returns all messages unchanged and only calls `onIssues`. @default "repair"
   */
  readonly mode?: "throw" | "repair" | "report";
  /** Called with all issues, warnings included, before anything is done about them; not called if there are none. */
  readonly onIssues?: (issues: readonly StructureIssue[]) => unknown;
  /** Called with the changes of a repair; not called if there are none. */
  readonly onRepairs?: (repairs: readonly StructureRepair[]) => unknown;
}

const guardOptions = lazy(() =>
  z.strictObject({
    mode: z._default(z.enum(["throw", "repair", "report"], 'must be "throw", "repair" or "report"'), "repair"),
    onIssues: z.optional(anyFunction<(issues: readonly StructureIssue[]) => unknown>()),
    onRepairs: z.optional(anyFunction<(repairs: readonly StructureRepair[]) => unknown>()),
    ...repairFields(),
    purpose: z._default(repairFields().purpose, "model-input"),
    // Its form is checked by resolveProfileChoice.
    profile: z.optional(z.custom<ConversationGuardOptions["profile"]>()),
    storesReasoning: z.optional(z.boolean("must be true or false")),
    model: z.optional(z.custom(isModel, "must be a model, or its name")),
  }),
);

/**
 * Creates a Runnable that validates or repairs the structure of messages in front of a model. Never mutates its input:
 * a repair returns new messages.
 *
 * @throws ConfigurationError naming the option. `invoke` throws StructureError.
 * @example
 * import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
 * import { ChatPromptTemplate } from "@langchain/core/prompts";
 * import { conversationGuard } from "langchain-redis-memory/structure";
 *
 * const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], ["placeholder", "{history}"]]);
 * const guard = conversationGuard({ profile: "anthropic" });
 * export const chainWith = (model: BaseChatModel) => prompt.pipe(guard).pipe(model);
 */
export function conversationGuard(options: ConversationGuardOptions = {}): Runnable<ReducerInput, BaseMessage[]> {
  const { mode, onIssues, onRepairs, profile, model, ...fields } = parseOptions(owner, guardOptions(), options);
  // A default of the schema is no choice: a given `leadingMessages` says more.
  const { leadingMessages } = options;
  const choices = { ...fields, leadingMessages } as Omit<RepairOptions, "profile" | "model">;
  const planFor = plannerOf({ profile, model, choices });
  const guard = new RunnableLambda<ReducerInput, BaseMessage[]>({
    func: async (input: ReducerInput, config: object) => {
      return guarded(messagesOf(input), { mode, onIssues, onRepairs, plan: await planFor(config) });
    },
  });
  // Its name in traces.
  guard.name = "ConversationGuard";
  return guard;
}

const owner = "conversationGuard";

function isModel(value: unknown): boolean {
  return typeof value === "string" || (typeof value === "object" && value !== null);
}

/** The repair for a call's config: one for all calls, unless it follows from a model. */
function plannerOf({
  profile,
  model,
  choices,
}: Pick<ConversationGuardOptions, "profile" | "model"> & {
  readonly choices: RepairOptions;
}): (config: object | undefined) => RepairPlan | Promise<RepairPlan> {
  const isCalled = typeof model === "object";
  const chosen = profile === undefined ? (isCalled ? "auto" : "langchain") : profile;
  const isGuide = chosen === "langchain" && choices.purpose !== "history";
  const resolved = isGuide
    ? langchainGuide
    : resolveProfileChoice(owner, chosen === "auto" && !isCalled ? "neutral" : chosen);
  const named = resolved === "auto" ? {} : { profile: resolved };
  if (isCalled) {
    const request = { model, choices: { ...choices, ...named } };
    return async (config) => (await planForModel(owner, { ...request, config })).plan;
  }
  const ofName = typeof model === "string" ? { model } : {};
  const plan = resolveRepairOptions(owner, { ...choices, ...ofName, ...named });
  return () => plan;
}

interface Guarding extends Pick<SchemaOutput<typeof guardOptions>, "mode" | "onIssues" | "onRepairs"> {
  readonly plan: RepairPlan;
}

async function guarded(messages: BaseMessage[], { mode, onIssues, onRepairs, plan }: Guarding): Promise<BaseMessage[]> {
  const issues = findIssues(messages, plan.criteria);
  if (issues.length > 0) {
    await onIssues?.(issues);
  }
  if (mode === "throw") {
    throwOnErrors(issues);
  }
  if (mode !== "repair") {
    return messages;
  }
  const repaired = repairAs(plan, messages);
  if (repaired.repairs.length > 0) {
    await onRepairs?.(repaired.repairs);
  }
  throwOnErrors(findIssues(repaired.messages, plan.criteria));
  return repaired.messages;
}
