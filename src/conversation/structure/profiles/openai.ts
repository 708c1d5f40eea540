import { identifiers } from "./identifiers.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** Chat completions, through ChatOpenAI. */
export const openai: StructureProfile = {
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
