import type { BaseMessage } from "@langchain/core/messages";
import type { OwnToolPart } from "./own-tools.js";

/**
 * An adapter between LangChain's messages and a provider's API, by the name of its profile. `neutral` is the form that
 * nearly all of them read: texts and `tool_calls`.
 *
 * @example
 * import { builtInProfiles, type Adapter } from "langchain-redis-memory/structure";
 *
 * const adapter: Adapter = "openai-responses";
 * const profile = { ...builtInProfiles[adapter], name: "our-gateway" };
 */
export type Adapter =
  | "openai-chat"
  | "openai-responses"
  | "anthropic"
  | "google"
  | "google-genai"
  | "mistral"
  | "bedrock"
  | "deepseek"
  | "neutral";

/** Every {@link Adapter}. */
export const adapters = [
  "openai-chat",
  "openai-responses",
  "anthropic",
  "google",
  "google-genai",
  "mistral",
  "bedrock",
  "deepseek",
  "neutral",
] as const satisfies readonly Adapter[];

/** Facts about a message that depend on the others of its request, where its adapter asks for them. */
export interface RequestPlace {
  /** The part of the message in the use of OpenAI's own kinds of tools. */
  readonly ownToolPart?: OwnToolPart;
  /** True for an answer of which an earlier message has sent an item of OpenAI's. */
  readonly isRepeated?: boolean;
  /** The names of the message's documents for Bedrock. */
  readonly documentNames?: string;
}

/** Facts on which the form of a message depends besides the adapter. */
export interface FormFacts extends RequestPlace {
  /** Whether the provider keeps reasoning items (`store`). */
  readonly storesReasoning: boolean;
  /** The model's name; undefined if it is not known. */
  readonly model: string | undefined;
  /** True where an answer for ChatGoogle may go to another adapter. */
  readonly isOutOfSight?: boolean;
  /** Whether the answer belongs to the turn that goes on. */
  readonly isOfThisTurn: boolean;
}

/** The answer as an adapter sends it back to its own provider; undefined where that cannot be sent as it is. */
export type OwnForm = (message: BaseMessage, facts: FormFacts) => BaseMessage | undefined;
