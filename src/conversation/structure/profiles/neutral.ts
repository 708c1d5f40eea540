import type { CallIdForm, StructureProfile } from "./profile.js";

/** The letters and digits of ASCII. */
export const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The characters that most providers accept in ids and names. */
export const identifiers = `${alphanumerics}_-`;

/** Types of the user's blocks in LangChain's forms. */
export const userMedia = ["text", "image_url", "image", "audio", "video", "file", "media", "text-plain"];

/** True if the id has the form; without a form all ids do. */
export function fitsForm(id: string, form: CallIdForm = {}): boolean {
  const { characters, minLength = 0, maxLength = Infinity } = form;
  const isLong = id.length >= minLength && id.length <= maxLength;
  return isLong && (characters === undefined || [...id].every((character) => characters.includes(character)));
}

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

/**
 * LangChain's own rules of a valid chat history, the minimum of every provider. A call id reused by a later message is
 * common and harmless.
 */
export const langchain: StructureProfile = {
  name: "langchain",
  rules: { ...refusedEverywhere, S01: "error", S02: "warning", S03: "error", S05: "error" },
  callIds: { reuse: "warning" },
};

/** The rules of LangChain's guide for a request: a first message that breaks them is no mere warning. */
export const langchainGuide: StructureProfile = { ...langchain, rules: { ...langchain.rules, S02: "error" } };

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
