import { alphanumerics, identifiers } from "./identifiers.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** Chat completions of Mistral, through ChatMistralAI. */
export const mistral: StructureProfile = {
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
