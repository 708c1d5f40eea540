import type { StructureProfile } from "./profile.js";

/**
 * Rules that every provider enforces: those of calls and results, and S19, because LangChain's adapters omit calls with
 * invalid arguments.
 */
export const refusedEverywhere: StructureProfile["rules"] = {
  // seen as error text of every provider, for OpenAI: "messages with role 'tool' must be a response to a preceeding
  // message …"
  S07: "error",
  // OpenAI: "An assistant message with 'tool_calls' must be followed by tool messages …"; Anthropic: "`tool_use` ids
  // were found without …"
  S08: "error",
  S09: "error", // the same texts; Gemini: "function response turn comes immediately after a function call turn"
  S10: "error", // the same texts; Mistral: "Not the same number of function calls and responses"
  S11: "error", // OpenAI-compatible: "Duplicate value for 'tool_call_id'"; Anthropic: "`tool_use` ids must be unique"
  S12: "error", // Anthropic: "each tool_use must have a single result"
  S19: "error", // LangChain's adapters send `tool_calls` only, so the result of an unreadable call would stand alone
  S30: "error", // the texts of S08; a rule for what goes to a model
  S37: "error", // Anthropic: "The request body is not valid JSON: no low surrogate in string"
  // Anthropic: "A maximum of 4 blocks with cache_control may be provided"; other providers take no marks, or as many
  S38: "error",
  S39: "error", // where the profile tells the number; Anthropic: "too many images and documents: 120 + 0 > 100"
};
