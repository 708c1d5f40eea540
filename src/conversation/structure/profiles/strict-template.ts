import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** Chat templates of open models that insist on strict alternation, as vLLM and others apply them. */
export const strictTemplate: StructureProfile = {
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
