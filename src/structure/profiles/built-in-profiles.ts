import { anthropic } from "./anthropic.js";
import { bedrock } from "./bedrock.js";
import { gemini } from "./gemini.js";
import { langchain } from "./langchain.js";
import { mistral } from "./mistral.js";
import { openai } from "./openai.js";
import type { StructureProfile } from "./profile.js";
import { strictTemplate } from "./strict-template.js";

/** The names of the profiles that come with the package. */
export type BuiltInProfile =
  "langchain" | "openai" | "anthropic" | "gemini" | "mistral" | "bedrock" | "strict-template";

/**
 * The profiles that come with the package, by name.
 *
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { builtInProfiles } from "langchain-redis-memory/structure";
 *
 * const profile = { ...builtInProfiles.openai, name: "our-gateway" };
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", profile });
 */
export const builtInProfiles: Readonly<Record<BuiltInProfile, StructureProfile>> = {
  langchain,
  openai,
  anthropic,
  gemini,
  mistral,
  bedrock,
  "strict-template": strictTemplate,
};
