import type { Adapter } from "../adapters/adapter.js";
import { anthropic } from "./anthropic.js";
import { bedrock } from "./bedrock.js";
import { gemini } from "./gemini.js";
import { userMedia } from "./identifiers.js";
import { mistral } from "./mistral.js";
import { neutral } from "./neutral.js";
import { openai } from "./openai.js";
import type { StructureProfile } from "./profile.js";

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
