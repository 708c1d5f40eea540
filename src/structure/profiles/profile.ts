import type { Speaker } from "../../messages/roles.js";
import type { StructureRule, StructureSeverity } from "../rules/rules.js";

/** How call ids must look. What is left out is free. */
export interface CallIdForm {
  /** The characters that may occur, one after another. */
  readonly characters?: string;
  /** Fewest characters. @default 0 */
  readonly minLength?: number;
  /** Most characters. */
  readonly maxLength?: number;
  /**
   * What it means that a later message calls an id again, rule S11. Within one message it is what S11 says.
   * @default what S11 says
   */
  readonly reuse?: StructureSeverity | "accepted";
}

/** How list content may repeat the calls of its message. */
export interface CallBlockForm {
  /** Types of blocks that may. @default none */
  readonly types?: readonly string[];
  /** Whether list content must repeat every call. @default false */
  readonly required?: boolean;
  /**
   * Whether `tool_call` blocks of LangChain's standard content may; `beside-text` if other content must be left.
   * @default "refused"
   */
  readonly standard?: "accepted" | "beside-text" | "refused";
}

/** How names must look. */
export interface NameForm {
  /** The characters that may occur, one after another. */
  readonly characters: string;
  /** Most characters. */
  readonly maxLength: number;
}

/**
 * What one provider accepts, as a plain value: you can write one of your own like those of the package. Rules
 * that are not named do not hold.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { validateConversation, type StructureProfile } from "langchain-redis-memory/structure";
 *
 * const letters = "abcdefghijklmnopqrstuvwxyz";
 * const profile: StructureProfile = {
 *   name: "our own server",
 *   rules: { S02: "error", S13: "error", S26: "warning", S27: "error", S29: "error" },
 *   callIds: { characters: `${letters}0123456789`, minLength: 9, maxLength: 9 },
 *   names: { characters: `${letters}_`, maxLength: 64 },
 *   blocks: { user: ["text", "image_url"] },
 *   callBlocks: { types: ["tool_use"] },
 * };
 * const issues = validateConversation([new HumanMessage("Hi")], { profile });
 */
export interface StructureProfile {
  /** What the profile is called in messages. */
  readonly name: string;
  /** The rules that hold, each with how strictly: a repair changes what an `error` forbids. */
  readonly rules: Readonly<Partial<Record<StructureRule, StructureSeverity>>>;
  /** For rules S11 and S13. */
  readonly callIds?: CallIdForm;
  /** For rule S01: whether system messages alone can be answered. @default "refused" */
  readonly systemOnly?: "accepted" | "refused";
  /**
   * For rule S02: what the first message may be; `not-a-call` accepts all but a message that calls tools.
   * @default "user"
   */
  readonly firstMessage?: "user" | "not-a-call";
  /**
   * For rule S05: whether a last message of the model passes that is marked by `additional_kwargs.prefix`.
   * @default "refused"
   */
  readonly markedPrefix?: "accepted" | "refused";
  /** For rule S09: `calls` if results must come in the order of their calls. @default "any" */
  readonly resultOrder?: "any" | "calls";
  /**
   * For rule S15: whether blank text passes, so that only content without anything in it does not.
   * @default "refused"
   */
  readonly blankText?: "accepted" | "refused";
  /** For rule S21: the values of `response_metadata.model_provider` whose thinking blocks are accepted. @default all */
  readonly thinkingFrom?: readonly string[];
  /**
   * For rule S24: whether `additional_kwargs.reasoning_content` must or must not be on the model's messages.
   * @default "refused"
   */
  readonly reasoningText?: "required" | "refused";
  /** For rule S26: how names of speakers and tools must look. */
  readonly names?: NameForm;
  /** For rule S27: the types of content blocks that each speaker may use; who is left out may use all. */
  readonly blocks?: Readonly<Partial<Record<Speaker, readonly string[]>>>;
  /** For rule S29: how content may repeat calls. @default not at all */
  readonly callBlocks?: CallBlockForm;
  /**
   * For rule S31: roles of generic messages that are accepted; `function` stands for function messages.
   * @default none
   */
  readonly genericRoles?: readonly string[];
}
