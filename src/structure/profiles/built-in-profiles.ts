import { alphanumerics } from "../repair/call-ids.js";
import type { StructureProfile } from "./profile.js";
import type { StructureRule, StructureSeverity } from "../rules/rules.js";

/** The names of the profiles that the package brings. */
export type BuiltInProfile =
  "langchain" | "openai" | "anthropic" | "gemini" | "mistral" | "bedrock" | "strict-template";

const identifiers = `${alphanumerics}_-`;

/**
 * Refused everywhere: what is said of calls and results, and calls that LangChain's adapters leave out because their
 * arguments are unreadable.
 */
const everywhere: Partial<Record<StructureRule, StructureSeverity>> = {
  S07: "error", // seen as error text of every provider, for OpenAI: "messages with role 'tool' must be a response to a preceeding message …"
  S08: "error", // OpenAI: "An assistant message with 'tool_calls' must be followed by tool messages …"; Anthropic: "`tool_use` ids were found without …"
  S09: "error", // the same texts; Gemini: "function response turn comes immediately after a function call turn"
  S10: "error", // the same texts; Mistral: "Not the same number of function calls and responses"
  S11: "error", // OpenAI-compatible: "Duplicate value for 'tool_call_id'"; Anthropic: "`tool_use` ids must be unique"
  S12: "error", // Anthropic: "each tool_use must have a single result"
  S19: "error", // LangChain's adapters send `tool_calls` only, so the result of an unreadable call would stand alone
  S30: "error", // the texts of S08; a rule for what goes to a model
};

/**
 * LangChain's own rules of a valid chat history, which every provider wants at least. Ids used again by a later message
 * are common and harmless.
 */
const langchain: StructureProfile = {
  name: "langchain",
  rules: { ...everywhere, S01: "error", S02: "warning", S03: "error", S05: "error" },
  callIds: { reuse: "warning" },
};

/** Chat completions, through ChatOpenAI. */
const openai: StructureProfile = {
  name: "openai",
  rules: {
    ...everywhere,
    S01: "error", // seen: "Invalid 'messages': empty array. Expected an array with minimum length 1 …"
    S13: "error", // seen: "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40 …"
    S15: "error", // seen: "Invalid 'messages[2].content': empty array …"; blank text passes
    S16: "error", // seen: "Invalid 'messages[1].tool_calls': empty array …"; "Invalid value for 'content': expected a string, got null."
    S22: "error", // seen with the Responses API: "Item 'rs_…' of type 'reasoning' was provided without its required following item"
    S26: "error", // seen: "Invalid 'messages[1].name': string does not match pattern. Expected … '^[a-zA-Z0-9_-]+$'."; function names: 64
    S27: "error", // content parts of each role in the API reference; seen: "Invalid value: '…'. Supported values are: …"
    S29: "error", // ChatOpenAI takes call blocks out of the content; nothing left is an empty array
    S31: "error", // seen: "Invalid value: '…'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
  },
  systemOnly: "accepted",
  callIds: { minLength: 1, maxLength: 40, reuse: "warning" },
  blankText: "accepted",
  callBlocks: { standard: "beside-text" },
  names: { characters: identifiers, maxLength: 64 },
  blocks: {
    system: ["text"],
    user: ["text", "image_url", "input_audio", "file", "image", "audio"],
    assistant: ["text", "refusal"],
    tool: ["text"],
  },
  genericRoles: ["system", "developer", "user", "assistant"],
};

/** The Messages API, through ChatAnthropic. Runs of one role are merged by the service. */
const anthropic: StructureProfile = {
  name: "anthropic",
  rules: {
    ...everywhere,
    S01: "error", // at least one message is required
    S02: "error", // known: the first message is the user's
    S03: "error", // ChatAnthropic: "System messages are only permitted as the first passed message."
    S04: "error", // the same
    S05: "error", // seen: "does not support assistant message prefill"
    S13: "error", // seen: "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    S14: "error", // seen: "`tool_use` ids were found without `tool_result` blocks immediately after"
    S15: "error", // seen: "text content blocks must be non-empty", "… must contain non-whitespace text"
    S16: "error", // seen: "all messages must have non-empty content except for the optional final assistant message"
    S17: "error", // known: "final assistant content cannot end with trailing whitespace"
    S21: "error", // seen: "Invalid signature in thinking block"; known: the final block cannot be thinking
    S26: "error", // known: tool names of 1 to 64 of the same characters as ids
    S27: "error", // known: media only in the user's messages and in tool results
    S28: "error", // known through proxies: tools must be declared where the history holds calls
    S29: "error", // ChatAnthropic sends calls beside list content only where the list holds them as `tool_use`
    S31: "error", // ChatAnthropic: "Message type … is not supported."
  },
  callIds: { characters: identifiers, minLength: 1, maxLength: 64, reuse: "error" },
  thinkingFrom: ["anthropic", "bedrock", "bedrock-converse", "amazon-bedrock", "google-vertexai"],
  names: { characters: identifiers, maxLength: 64 },
  blocks: {
    system: ["text"],
    assistant: [
      ...["text", "text_delta", "thinking", "redacted_thinking", "reasoning", "server_tool_use"],
      ...[
        "web_search_tool_result",
        "web_search_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
      ],
      ...["server_tool_call", "server_tool_call_result", "non_standard", "compaction"],
    ],
  },
  callBlocks: { types: ["tool_use", "input_json_delta"], required: true, standard: "accepted" },
};

/** Generate content, through LangChain's Google adapters. */
const gemini: StructureProfile = {
  name: "gemini",
  rules: {
    ...everywhere,
    S01: "error", // contents must not be empty
    S02: "error", // seen: "Please ensure that function call turn comes immediately after a user turn or after a function response turn"
    S03: "error", // ChatGoogleGenerativeAI: "System message should be the first one"
    S04: "error", // the same
    S05: "error", // known: a request must not end on a model turn
    S06: "error", // the text of S02: a call behind another model turn; LangChain's adapter does not merge
    S15: "error", // known: empty parts are refused
    S16: "error", // the same
    S20: "error", // a function response goes by the function's name
    S23: "warning", // seen with Gemini 3 only: "Function call is missing a thought_signature in functionCall parts"
    S26: "error", // known: function names of at most 64 of these characters
    S27: "error", // ChatGoogleGenerativeAI: "Unknown content type …"
    S29: "error", // the adapter adds `tool_calls` to what the content holds
    S31: "error", // ChatGoogleGenerativeAI: "Unknown / unsupported author"
  },
  firstMessage: "not-a-call",
  resultOrder: "calls",
  callIds: { reuse: "warning" },
  names: { characters: `${identifiers}.:`, maxLength: 64 },
  blocks: {
    system: ["text"],
    user: ["text", "image_url", "image", "audio", "video", "file", "media", "text-plain"],
    assistant: [
      "text",
      "image_url",
      "image",
      "audio",
      "video",
      "file",
      "media",
      "executableCode",
      "codeExecutionResult",
      "reasoning",
    ],
  },
  callBlocks: { types: ["functionCall"] },
};

/** Chat completions of Mistral, through ChatMistralAI. */
const mistral: StructureProfile = {
  name: "mistral",
  rules: {
    ...everywhere,
    S01: "error", // seen: "Expected last role to be one of: [tool, user]"
    S02: "warning", // templates of the open models refuse it
    S03: "error", // templates: "System message must be at the beginning."
    S05: "error", // seen: "Expected last role to be one of: [tool, user] but got assistant", code 3230
    S06: "error", // templates: "After the optional system message, conversation roles must alternate user/assistant …"
    S13: "error", // seen: "Tool call id was call_… but must be a-z, A-Z, 0-9, with a length of 9"
    S16: "error", // known
    S18: "warning", // some endpoints want content or tool calls, not both
    S20: "error", // seen at Mistral-compatible endpoints
    S25: "error", // seen: "Unexpected role 'user' after role 'tool'"
    S26: "error", // function names: 64
    S27: "error", // content chunks of the API reference
    S29: "error",
    S31: "error",
  },
  markedPrefix: "accepted",
  resultOrder: "calls",
  callIds: { characters: alphanumerics, minLength: 9, maxLength: 9, reuse: "warning" },
  names: { characters: identifiers, maxLength: 64 },
  blocks: {
    system: ["text"],
    user: ["text", "image_url", "document_url", "input_audio", "file"],
    assistant: ["text", "thinking", "reference"],
    tool: ["text"],
  },
};

/** Converse, through ChatBedrockConverse. */
const bedrock: StructureProfile = {
  name: "bedrock",
  rules: {
    ...everywhere,
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
    S29: "error", // the same as S27: calls come from `tool_calls`
    S31: "error", // ChatBedrockConverse: "Unsupported message type"
  },
  callIds: { characters: identifiers, minLength: 1, maxLength: 64, reuse: "error" },
  names: { characters: identifiers, maxLength: 64 },
  blocks: {
    system: ["text"],
    user: ["text", "image_url", "image", "document", "file", "video"],
    assistant: ["text", "reasoning_content"],
  },
};

/** Chat templates of open models that insist on strict alternation, as vLLM and others apply them. */
const strictTemplate: StructureProfile = {
  name: "strict-template",
  rules: {
    ...everywhere,
    S01: "error",
    S02: "error", // seen: "Conversation roles must alternate user/assistant/user/assistant/..."
    S03: "error", // seen: "System message must be at the beginning."
    S04: "error", // seen: "After the optional system message, conversation roles must alternate"
    S05: "error", // the template would open a second turn of the model
    S06: "error", // seen: as S02
    S16: "error",
    S20: "error", // templates print the name
    S27: "error", // templates concatenate text
    S29: "error",
    S31: "error", // seen: "Only user, assistant and tool roles are supported …"
  },
  callIds: { minLength: 1, reuse: "warning" },
  resultOrder: "calls",
  blocks: { system: ["text"], user: ["text", "image_url", "image"], assistant: ["text"], tool: ["text"] },
};

/** The profiles that the package brings, by name. */
export const builtInProfiles: Readonly<Record<BuiltInProfile, StructureProfile>> = {
  langchain,
  openai,
  anthropic,
  gemini,
  mistral,
  bedrock,
  "strict-template": strictTemplate,
};
