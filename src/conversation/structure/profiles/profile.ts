import type { Adapter } from "../adapters/adapter.js";
import type { Speaker } from "../../messages/message.js";
import type { StructureRule, StructureSeverity } from "../rules/rules.js";

/** Required form of call ids; a missing field sets no constraint. */
export interface CallIdForm {
  /** Allowed characters, as one string. */
  readonly characters?: string;
  /** Minimum length. @default 0 */
  readonly minLength?: number;
  /** Maximum length. */
  readonly maxLength?: number;
  /**
   * Severity of an id reused by a later message (rule S11). Reuse within one message always has the severity of S11.
   * @default the severity of S11
   */
  readonly reuse?: StructureSeverity | "accepted";
}

/** Required form of names. */
export interface NameForm {
  /** Allowed characters, as one string. */
  readonly characters: string;
  /** Maximum length. */
  readonly maxLength: number;
}

/**
 * The message lists that one provider accepts, as a plain object; the built-in profiles are objects of the same type.
 * Rules that are not listed are not checked.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { validateConversation, type StructureProfile } from "langchain-redis-memory/structure";
 *
 * const letters = "abcdefghijklmnopqrstuvwxyz";
 * const profile: StructureProfile = {
 *   name: "our own server",
 *   rules: { S02: "error", S13: "error", S26: "warning", S27: "error" },
 *   callIds: { characters: `${letters}0123456789`, minLength: 9, maxLength: 9 },
 *   names: { characters: `${letters}_`, maxLength: 64 },
 *   blocks: { user: ["text", "image_url"] },
 * };
 * const issues = validateConversation([new HumanMessage("Hi")], { profile });
 */
export interface StructureProfile {
  /** Name of the profile in error messages. */
  readonly name: string;
  /** Severity of each rule that is checked; a repair fixes errors and leaves warnings. */
  readonly rules: Readonly<Partial<Record<StructureRule, StructureSeverity>>>;
  /**
   * The adapter that messages go through. A repair then gives answers the form that it reads (rule S36, which is not
   * checked without an adapter). @default in a memory that of a known model, else none
   */
  readonly adapter?: Adapter;
  /** For rules S11 and S13. */
  readonly callIds?: CallIdForm;
  /** For rule S01: whether a list of system messages only is accepted. @default "refused" */
  readonly systemOnly?: "accepted" | "refused";
  /**
   * For rule S02: the first message that is not a system message; `not-a-call` accepts any that calls no tool.
   * @default "user"
   */
  readonly firstMessage?: "user" | "not-a-call";
  /** For rule S09: `calls` if results must come in the order of their calls. @default "any" */
  readonly resultOrder?: "any" | "calls";
  /** For rule S15: whether blank text is accepted, so that only empty content is an error. @default "refused" */
  readonly blankText?: "accepted" | "refused";
  /** For rule S26: the form of speaker and tool names. */
  readonly names?: NameForm;
  /** For rule S27: allowed content block types by speaker but the model's; a missing speaker may use all. */
  readonly blocks?: Readonly<Partial<Record<Exclude<Speaker, "assistant">, readonly string[]>>>;
  /** For rule S39: how many pictures and files a request may have; notes stand for the oldest. @default any number */
  readonly maxMedia?: number;
}
