import { identifiers } from "./identifiers.js";
import { langchain } from "./langchain.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** For a model of a class that is not known: LangChain's own rules, texts and `tool_calls`. */
export const otherClass: StructureProfile = { ...langchain, name: "neutral", adapter: "neutral" };

/**
 * For a model that is not in sight: what every provider accepts, the strictest form of each rule. The error texts stand
 * in the profiles of the providers that give them.
 */
export const neutral: StructureProfile = {
  name: "neutral",
  adapter: "neutral",
  rules: {
    ...refusedEverywhere,
    S01: "error",
    S02: "error", // Anthropic, Gemini, Bedrock
    S03: "error", // Anthropic, Gemini, Mistral
    S04: "error", // ChatGoogleGenerativeAI
    S05: "error", // Anthropic, Gemini, Mistral, Bedrock
    S06: "error", // Gemini, Mistral, Bedrock
    S13: "error", // OpenAI, Anthropic, Bedrock; ChatMistralAI rewrites ids by itself
    S15: "error", // Anthropic, Gemini, Bedrock
    S16: "error", // all but OpenAI
    S20: "error", // Gemini
    S25: "error", // Mistral, Bedrock
    S26: "error", // all
    S31: "error", // Anthropic, Gemini, Bedrock
  },
  callIds: { characters: identifiers, minLength: 1, maxLength: 40, reuse: "error" },
  resultOrder: "calls",
  names: { characters: identifiers, maxLength: 64 },
};
