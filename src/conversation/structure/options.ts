import * as z from "zod/mini";
import { lazy, parseOptions } from "../../base/options.js";
import type { StructureCriteria, StructurePurpose } from "./rules/rules.js";
import { frontMarks } from "./rules/request-rules.js";
import { type BuiltInProfile, profileOfModel, builtInProfiles } from "./profiles/built-in-profiles.js";
import type { StructureProfile } from "./profiles/profile.js";
import { checkProfile, type ProfileChoice } from "./profiles/check-profile.js";

/** Options of structure validation: the profile, and facts about the request. */
export interface StructureOptions {
  /** The profile whose rules hold: the name of a built-in one, or a profile of your own. @default "langchain" */
  readonly profile?: BuiltInProfile | StructureProfile;
  /**
   * Purpose of the messages. A `history` may end with an AI message, or with calls that the runtime will still answer;
   * a `model-input` ends with a user message or a tool result, and has no open call.
   * @default "history"
   */
  readonly purpose?: StructurePurpose;
  /** Whether the request declares tools, for rule S28. Undefined: not known, and the rule passes. @default undefined */
  readonly hasTools?: boolean;
  /** Whether the provider keeps reasoning items (`store`), for rule S36. @default true */
  readonly storesReasoning?: boolean;
  /** The name of the model, for what only some models of a provider ask for. @default not known */
  readonly model?: string;
  /** The tools that the request declares, for rules S28 and S38. @default not known */
  readonly tools?: readonly unknown[];
}

const structureFields = lazy(() => ({
  // Its form is checked by resolveProfile, once per profile.
  profile: z._default(z.unknown(), "langchain"),
  purpose: z._default(z.enum(["history", "model-input"], 'must be "history" or "model-input"'), "history"),
  hasTools: z.optional(z.boolean("must be true or false")),
  storesReasoning: z._default(z.boolean("must be true or false"), true),
  model: z.optional(z.string("must be a string")),
  tools: z.optional(z.array(z.unknown(), "must be an array of tools")),
}));

/** Repair policies: the choice where a rule can be repaired in several ways. */
export interface RepairChoices {
  /**
   * Messages before the first user message: `fill` puts a placeholder user message before them, `drop` removes them.
   * Rule S02 is an error where this is given, in every profile. @default "fill", where the profile asks for it
   */
  readonly leadingMessages: "fill" | "drop";
  /**
   * AI messages at the end of a `model-input`: `drop` removes them; `keep` leaves them, and rule S05 violated, because
   * only the application knows the next user message; `fill` puts a placeholder user message behind them, also where
   * nothing but system messages is left. @default "keep"
   */
  readonly trailingMessages: "keep" | "drop" | "fill";
}

/** Options of validation and of repair. */
export interface RepairOptions extends StructureOptions, Partial<RepairChoices> {}

/** Schema fields of {@link RepairOptions}. */
export const repairFields = lazy(() => ({
  ...structureFields(),
  leadingMessages: z._default(z.enum(["fill", "drop"], 'must be "fill" or "drop"'), "fill"),
  trailingMessages: z._default(z.enum(["keep", "drop", "fill"], 'must be "keep", "drop" or "fill"'), "keep"),
}));

const repairOptions = lazy(() => z.strictObject(repairFields()));

/** Validated repair options. */
export interface RepairPlan {
  readonly criteria: StructureCriteria;
  readonly choices: RepairChoices;
}

/** Parses options into a plan. @throws ConfigurationError naming `owner` */
export function resolveRepairOptions(owner: string, options: RepairOptions): RepairPlan {
  const parsed = parseOptions(owner, repairOptions(), options);
  const { profile, purpose, hasTools, storesReasoning, model, tools, ...choices } = parsed;
  const named = resolveProfile(owner, profile as BuiltInProfile);
  const held = options.leadingMessages === undefined ? named : beginningWithUser(named);
  return {
    criteria: {
      profile: profileOfModel(held, { model }),
      purpose,
      hasTools: hasTools ?? (tools && tools.length > 0),
      storesReasoning,
      model,
      marks: tools && frontMarks(tools),
    },
    choices,
  };
}

/** The profile with rule S02 in its plain form. */
function beginningWithUser(profile: StructureProfile): StructureProfile {
  return { ...profile, firstMessage: "user", rules: { ...profile.rules, S02: "error" } };
}

/**
 * The built-in profile of this name, or the given profile after its check.
 *
 * @throws ConfigurationError as {@link checkProfile} does.
 */
export function resolveProfile(owner: string, profile: BuiltInProfile | StructureProfile): StructureProfile {
  const checked = checkProfile(owner, profile);
  return typeof checked === "string" ? builtInProfiles[checked] : checked;
}

/** {@link resolveProfile}, where `"auto"` stands for the profile of each request's model. */
export function resolveProfileChoice(owner: string, profile: ProfileChoice): StructureProfile | "auto" {
  return profile === "auto" ? profile : resolveProfile(owner, profile);
}
