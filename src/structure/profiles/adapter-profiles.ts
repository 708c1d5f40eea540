import type { Adapter } from "../adapters/adapter.js";
import { anthropic } from "./anthropic.js";
import { bedrock } from "./bedrock.js";
import { gemini } from "./gemini.js";
import { mistral } from "./mistral.js";
import { neutral } from "./neutral.js";
import { openai } from "./openai.js";
import type { StructureProfile } from "./profile.js";

const chat = { ...openai, name: "openai-chat", adapter: "openai-chat" } as const satisfies StructureProfile;

const userMedia = ["text", "image_url", "image", "audio", "video", "file", "media", "text-plain"];

/** Media have the form that ChatAnthropic sends by then. */
const claudeTakes = [
  ...[...userMedia, "text_delta", "input_text", "input_image", "input_file", "input_audio", "inlineData", "fileData"],
  ...["document", "document_url", "search_result", "container_upload", "tool_result"],
];

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
  // ChatAnthropic leaves other blocks of the user out, which may leave nothing.
  anthropic: { ...anthropic, adapter: "anthropic", blocks: { ...anthropic.blocks, user: claudeTakes } },
  google: {
    ...gemini,
    name: "google",
    adapter: "google",
    blocks: { system: ["text"], user: [...userMedia, "inlineData", "fileData"] },
  },
  "google-genai": {
    ...gemini,
    name: "google-genai",
    adapter: "google-genai",
    blocks: { system: ["text"], user: userMedia },
  },
  mistral: {
    ...mistral,
    adapter: "mistral",
    // ChatMistralAI: "Mistral only supports types "text" or "image_url" for complex message types."
    blocks: { system: ["text"], user: ["text", "image_url"], tool: ["text"] },
  },
  bedrock: { ...bedrock, adapter: "bedrock" },
  deepseek: { ...chat, name: "deepseek", adapter: "deepseek" },
  neutral,
};
