import { identifiers } from "./identifiers.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** Converse, through ChatBedrockConverse. */
export const bedrock: StructureProfile = {
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
