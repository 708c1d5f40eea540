import type { Adapter } from "../adapters/adapter.js";
import { adapterProfiles } from "./adapter-profiles.js";
import { gemini } from "./gemini.js";
import { langchain } from "./langchain.js";
import { openai } from "./openai.js";
import type { StructureProfile } from "./profile.js";
import { strictTemplate } from "./strict-template.js";

/**
 * The names of the profiles that come with the package: those of the installed adapters; `langchain` and
 * `strict-template`; `openai` and `gemini` for a provider whose adapter is not known.
 */
export type BuiltInProfile = Adapter | "langchain" | "openai" | "gemini" | "strict-template";

/**
 * The profiles that come with the package, by name.
 *
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { builtInProfiles } from "langchain-redis-memory/structure";
 *
 * const profile = { ...builtInProfiles["openai-chat"], name: "our-gateway" };
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", profile });
 */
export const builtInProfiles: Readonly<Record<BuiltInProfile, StructureProfile>> = {
  langchain,
  openai,
  gemini,
  "strict-template": strictTemplate,
  ...adapterProfiles,
};
