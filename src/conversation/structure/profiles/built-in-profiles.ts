import { identifiers, refusedEverywhere, userMedia, alphanumerics, neutral, langchain } from "./neutral.js";
import type { StructureProfile } from "./profile.js";
import type { Adapter } from "../adapters/adapter.js";

/** Chat completions, through ChatOpenAI. */
const openai: StructureProfile = {
  name: "openai",
  adapter: "openai-chat",
  rules: {
    ...refusedEverywhere,
    S01: "error", // seen: "Invalid 'messages': empty array. Expected an array with minimum length 1 …"
    // seen: "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40 …"
    S13: "error",
    S15: "error", // seen: "Invalid 'messages[2].content': empty array …"; blank text passes
    // seen: "Invalid 'messages[1].tool_calls': empty array …"; "Invalid value for 'content': expected a string, got
    // null."
    S16: "error",
    // seen: "Invalid 'messages[1].name': string does not match pattern. Expected … '^[a-zA-Z0-9_-]+$'."; function
    // names: 64
    S26: "error",
    // content parts of each role in the API reference; seen: "Invalid value: '…'. Supported values are: …"
    S27: "error",
    // seen: "Invalid value: '…'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and
    // 'developer'."
    S31: "error",
  },
  systemOnly: "accepted",
  callIds: { minLength: 1, maxLength: 40, reuse: "warning" },
  blankText: "accepted",
  names: { characters: identifiers, maxLength: 64 },
  blocks: { system: ["text"], user: ["text", "image_url", "input_audio", "file", "image", "audio"], tool: ["text"] },
};

/** Generate content, through LangChain's Google adapters. */
const gemini: StructureProfile = {
  name: "gemini",
  adapter: "neutral",
  rules: {
    ...refusedEverywhere,
    S01: "error", // contents must not be empty
    // seen: "Please ensure that function call turn comes immediately after a user turn or after a function response
    // turn"
    S02: "error",
    S03: "error", // ChatGoogleGenerativeAI: "System message should be the first one"
    S04: "error", // the same
    S05: "error", // known: a request must not end on a model turn
    S06: "error", // the text of S02: a call behind another model turn; LangChain's adapter does not merge
    S13: "error", // ChatGoogle: the result of a call with an empty id goes out as the user's text
    S15: "error", // known: empty parts are refused
    S16: "error", // the same
    S20: "error", // a function response goes by the function's name
    S26: "error", // known: function names of at most 64 of these characters
    S27: "error", // ChatGoogleGenerativeAI: "Unknown content type …"
    S31: "error", // ChatGoogleGenerativeAI: "Unknown / unsupported author"
  },
  firstMessage: "not-a-call",
  resultOrder: "calls",
  callIds: { minLength: 1, reuse: "warning" },
  names: { characters: `${identifiers}.:`, maxLength: 64 },
  blocks: { system: ["text"], user: userMedia },
};

/** The Messages API, through ChatAnthropic. Runs of one role are merged by the service. */
const anthropic: StructureProfile = {
  name: "anthropic",
  adapter: "anthropic",
  rules: {
    ...refusedEverywhere,
    S01: "error", // at least one message is required
    S02: "error", // known: the first message is the user's
    S03: "error", // ChatAnthropic: "System messages are only permitted as the first passed message."
    S04: "error", // the same
    S05: "error", // seen: "does not support assistant message prefill"
    S13: "error", // seen: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    S15: "error", // seen: "text content blocks must be non-empty", "… must contain non-whitespace text"
    S16: "error", // seen: "all messages must have non-empty content except for the optional final assistant message"
    S26: "error", // known: tool names of 1 to 64 of the same characters as ids
    S27: "error", // known: media only in the user's messages and in tool results
    S28: "error", // known through proxies: tools must be declared where the history holds calls
    S31: "error", // ChatAnthropic: "Message type … is not supported."
  },
  callIds: { characters: identifiers, minLength: 1, maxLength: 64, reuse: "error" },
  names: { characters: identifiers, maxLength: 64 },
  maxMedia: 100, // seen: "too many images and documents: 120 + 0 > 100"
  // ChatAnthropic leaves other blocks of the user out, which may leave nothing; media have its form by then.
  blocks: {
    system: ["text"],
    user: [
      ...[...userMedia, "text_delta", "input_text", "input_image", "input_file", "input_audio", "inlineData"],
      ...["fileData", "document", "document_url", "search_result", "container_upload", "tool_result"],
    ],
  },
};

/** Converse, through ChatBedrockConverse. */
const bedrock: StructureProfile = {
  name: "bedrock",
  adapter: "bedrock",
  rules: {
    ...refusedEverywhere,
    S01: "error", // seen: "A conversation must start with a user message"
    S02: "error", // the same
    S03: "error", // there is no such role in the list
    S05: "error", // newer models: "does not support assistant message prefill"
    S06: "error", // seen: "must alternate between user and assistant roles"
    S13: "error", // toolUseId: 1 to 64 of these characters
    S15: "error", // known: "The text field in the ContentBlock object is blank"
    S16: "error", // the same
    S25: "error", // ChatBedrockConverse sends tool results and the user's text as two messages of one role
    S26: "error", // tool names: 1 to 64 of these characters
    S27: "error", // ChatBedrockConverse: "Unsupported content block type"
    S28: "error", // known: toolConfig must be defined where the history holds tool blocks
    S31: "error", // ChatBedrockConverse: "Unsupported message type"
  },
  callIds: { characters: identifiers, minLength: 1, maxLength: 64, reuse: "error" },
  names: { characters: identifiers, maxLength: 64 },
  blocks: {
    system: ["text", "cachePoint"],
    user: ["text", "image_url", "image", "document", "file", "video", "cachePoint"],
  },
};

/** Chat completions of Mistral, through ChatMistralAI. */
const mistral: StructureProfile = {
  name: "mistral",
  adapter: "mistral",
  rules: {
    ...refusedEverywhere,
    S01: "error", // seen: "Expected last role to be one of: [tool, user]"
    S02: "warning", // templates of the open models refuse it
    S03: "error", // templates: "System message must be at the beginning."
    S05: "error", // seen: "Expected last role to be one of: [tool, user] but got assistant", code 3230
    S06: "error", // templates: "After the optional system message, conversation roles must alternate …"
    S13: "error", // seen: "Tool call id was call_… but must be a-z, A-Z, 0-9, with a length of 9"
    S16: "error", // known
    S20: "error", // seen at Mistral-compatible endpoints
    S25: "error", // seen: "Unexpected role 'user' after role 'tool'"
    S26: "error", // function names: 64
    S27: "error", // content chunks of the API reference
    S31: "error",
  },
  resultOrder: "calls",
  callIds: { characters: alphanumerics, minLength: 9, maxLength: 9, reuse: "warning" },
  names: { characters: identifiers, maxLength: 64 },
  maxMedia: 8, // docs.mistral.ai, "vision"
  // ChatMistralAI: "Mistral only supports types "text" or "image_url" for complex message types."
  blocks: { system: ["text"], user: ["text", "image_url"], tool: ["text"] },
};

/** Chat templates of open models that insist on strict alternation, as vLLM and others apply them. */
const strictTemplate: StructureProfile = {
  name: "strict-template",
  adapter: "openai-chat",
  rules: {
    ...refusedEverywhere,
    S01: "error",
    S02: "error", // seen: "Conversation roles must alternate user/assistant/user/assistant/..."
    S03: "error", // seen: "System message must be at the beginning."
    S04: "error", // seen: "After the optional system message, conversation roles must alternate"
    S05: "error", // the template would open a second turn of the model
    S06: "error", // seen: as S02
    S16: "error",
    S20: "error", // templates print the name
    S27: "error", // templates concatenate text
    S31: "error", // seen: "Only user, assistant and tool roles are supported …"
  },
  callIds: { minLength: 1, reuse: "warning" },
  resultOrder: "calls",
  blocks: { system: ["text"], user: ["text", "image_url", "image"], tool: ["text"] },
};

const chat = { ...openai, name: "openai-chat", adapter: "openai-chat" } as const satisfies StructureProfile;

/** The profiles of the installed adapters: the rules of the API, and the form that the adapter reads. */
export const adapterProfiles: Readonly<Record<Adapter, StructureProfile>> = {
  "openai-chat": chat,
  "openai-responses": {
    ...openai,
    name: "openai-responses",
    adapter: "openai-responses",
    callIds: { minLength: 1, maxLength: 64, reuse: "error" }, // seen: "Expected a string with maximum length 64"
    blocks: {
      system: ["text"],
      user: ["text", "image_url", "input_text", "input_image", "input_file", "file", "image", "audio"],
    },
  },
  anthropic,
  google: {
    ...gemini,
    name: "google",
    adapter: "google",
    blocks: { system: ["text"], user: [...userMedia, "inlineData", "fileData"] },
  },
  "google-genai": { ...gemini, name: "google-genai", adapter: "google-genai" },
  mistral,
  bedrock,
  deepseek: { ...chat, name: "deepseek", adapter: "deepseek" },
  neutral,
};

/**
 * The names of the profiles that come with the package: those of the installed adapters; `langchain` and
 * `strict-template`; `openai` and `gemini` for a provider whose adapter is not known.
 */
export type BuiltInProfile = Adapter | "langchain" | "openai" | "gemini" | "strict-template";

/**
 * The profiles that come with the package, by name.
 *
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { builtInProfiles } from "langchain-redis-memory/structure";
 *
 * const profile = { ...builtInProfiles["openai-chat"], name: "our-gateway" };
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", profile });
 */
export const builtInProfiles: Readonly<Record<BuiltInProfile, StructureProfile>> = {
  langchain,
  openai,
  gemini,
  "strict-template": strictTemplate,
  ...adapterProfiles,
};

/** Claude's models that bind a thought to its whole prefix, under Anthropic's, Bedrock's and Vertex's names. */
const binding = /claude-(?:(?:fable|mythos)-5-[1-9]|(?:opus|sonnet|haiku)-5-[5-9])/;

/** True for the name of a model that binds its thoughts (platform.claude.com, "preserved thinking"). */
export function bindsThoughts(name: string | undefined): boolean {
  return name !== undefined && binding.test(name);
}

/** Claude's models that want the thought of a turn's first step, where thinking is enabled by hand. */
const wantsFirstThought = /claude-(?:3-7|(?:opus|sonnet|haiku)-4)/;

/** The requirements of one model, as far as its adapter's profile does not hold them. */
interface ModelFacts {
  readonly model: string | undefined;
  /** True where the request enables thinking with a budget. @default false */
  readonly thinksByHand?: boolean;
}

/** The profile with what is known only by the model's name; itself if that is nothing. */
export function profileOfModel(
  profile: StructureProfile,
  { model, thinksByHand = false }: ModelFacts,
): StructureProfile {
  const { adapter, rules } = profile;
  const isOfClaude = adapter === "anthropic" || adapter === "bedrock";
  const wantsFirst = isOfClaude && thinksByHand && model !== undefined && wantsFirstThought.test(model);
  return wantsFirst && rules.S33 === undefined ? { ...profile, rules: { ...rules, S33: "error" } } : profile;
}
