import * as z from "zod/mini";
import { lazy } from "../base/options.js";
import type { BuiltInProfile } from "./profiles/built-in-profiles.js";
import type { StructureProfile } from "./profiles/profile.js";
import { resolveProfile } from "./profiles/resolve-profile.js";
import type { StructureCriteria } from "./rules/context.js";
import type { StructurePurpose } from "./rules/rules.js";

/** What a conversation is checked against. */
export interface StructureOptions {
  /** The profile whose rules hold: the name of a built-in one, or a profile of your own. @default "langchain" */
  readonly profile?: BuiltInProfile | StructureProfile;
  /**
   * What the messages are for. A `history` may end with a message of the model, or with calls that the runtime will
   * still answer; a `model-input` ends with a message of the user or a tool result, and has no open call.
   * @default "history"
   */
  readonly purpose?: StructurePurpose;
  /** Whether the request declares tools, for rule S28. Undefined: not known, and the rule passes. @default undefined */
  readonly hasTools?: boolean;
  /** Whether the provider keeps reasoning items (`store`), for rule S22. @default true */
  readonly storesReasoning?: boolean;
}

/** Schema fields of {@link StructureOptions}. */
export const structureFields = lazy(() => ({
  // Its form is checked by resolveProfile, once per profile.
  profile: z._default(z.unknown(), "langchain"),
  purpose: z._default(z.enum(["history", "model-input"], 'must be "history" or "model-input"'), "history"),
  hasTools: z.optional(z.boolean("must be true or false")),
  storesReasoning: z._default(z.boolean("must be true or false"), true),
}));

/** The output of {@link structureFields}. */
export type StructureFields = z.output<z.ZodMiniObject<ReturnType<typeof structureFields>>>;

/** What parsed options ask for. @throws ConfigurationError for a profile that cannot be used */
export function toCriteria(owner: string, fields: StructureFields): StructureCriteria {
  const { profile, purpose, hasTools, storesReasoning } = fields;
  return { profile: resolveProfile(owner, profile as BuiltInProfile), purpose, hasTools, storesReasoning };
}
