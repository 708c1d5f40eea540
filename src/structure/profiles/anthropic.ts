import { identifiers } from "./identifiers.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** The Messages API, through ChatAnthropic. Runs of one role are merged by the service. */
export const anthropic: StructureProfile = {
  name: "anthropic",
  rules: {
    ...refusedEverywhere,
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
    S21: "error", // known: "The final block in an assistant message cannot be `thinking`."
    S26: "error", // known: tool names of 1 to 64 of the same characters as ids
    S27: "error", // known: media only in the user's messages and in tool results
    S28: "error", // known through proxies: tools must be declared where the history holds calls
    S29: "error", // ChatAnthropic sends calls beside list content only where the list holds them as `tool_use`
    S31: "error", // ChatAnthropic: "Message type … is not supported."
    S36: "error", // seen: "Invalid signature in thinking block"; ChatAnthropic sends a missing one as "undefined"
  },
  callIds: { characters: identifiers, minLength: 1, maxLength: 64, reuse: "error" },
  thinkingFrom: ["anthropic", "bedrock", "bedrock-converse", "amazon-bedrock", "google-vertexai"],
  names: { characters: identifiers, maxLength: 64 },
  blocks: {
    system: ["text"],
    assistant: [
      "text",
      "text_delta",
      "thinking",
      "redacted_thinking",
      "reasoning",
      "server_tool_use",
      "web_search_tool_result",
      "web_search_result",
      "bash_code_execution_tool_result",
      "text_editor_code_execution_tool_result",
      "server_tool_call",
      "server_tool_call_result",
      "non_standard",
      "compaction",
    ],
  },
  callBlocks: { types: ["tool_use", "input_json_delta"], required: true, standard: "accepted" },
};
