import { identifiers, userMedia } from "./identifiers.js";
import type { StructureProfile } from "./profile.js";
import { refusedEverywhere } from "./refused-everywhere.js";

/** Generate content, through LangChain's Google adapters. */
export const gemini: StructureProfile = {
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
