import { identifiers, userMedia } from "./identifiers.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** The Messages API, through ChatAnthropic. Runs of one role are merged by the service. */
export const anthropic: StructureProfile = {
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
