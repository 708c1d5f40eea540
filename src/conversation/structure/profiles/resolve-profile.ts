import { type BuiltInProfile, builtInProfiles } from "./built-in-profiles.js";
import type { StructureProfile } from "./profile.js";
import { checkProfile, type ProfileChoice } from "./check-profile.js";

/**
 * The built-in profile of this name, or the given profile after its check.
 *
 * @throws ConfigurationError as {@link checkProfile} does.
 */
export function resolveProfile(owner: string, profile: BuiltInProfile | StructureProfile): StructureProfile {
  const checked = checkProfile(owner, profile);
  return typeof checked === "string" ? builtInProfiles[checked] : checked;
}

/** {@link resolveProfile}, where `"auto"` stands for the profile of each request's model. */
export function resolveProfileChoice(owner: string, profile: ProfileChoice): StructureProfile | "auto" {
  return profile === "auto" ? profile : resolveProfile(owner, profile);
}

/** Claude's models that bind a thought to its whole prefix, under Anthropic's, Bedrock's and Vertex's names. */
const binding = /claude-(?:(?:fable|mythos)-5-[1-9]|(?:opus|sonnet|haiku)-5-[5-9])/;

/** True for the name of a model that binds its thoughts (platform.claude.com, "preserved thinking"). */
export function bindsThoughts(name: string | undefined): boolean {
  return name !== undefined && binding.test(name);
}

/** Claude's models that want the thought of a turn's first step, where thinking is enabled by hand. */
const wantsFirstThought = /claude-(?:3-7|(?:opus|sonnet|haiku)-4)/;

/** The requirements of one model, as far as its adapter's profile does not hold them. */
interface ModelFacts {
  readonly model: string | undefined;
  /** True where the request enables thinking with a budget. @default false */
  readonly thinksByHand?: boolean;
}

/** The profile with what is known only by the model's name; itself if that is nothing. */
export function profileOfModel(
  profile: StructureProfile,
  { model, thinksByHand = false }: ModelFacts,
): StructureProfile {
  const { adapter, rules } = profile;
  const isOfClaude = adapter === "anthropic" || adapter === "bedrock";
  const wantsFirst = isOfClaude && thinksByHand && model !== undefined && wantsFirstThought.test(model);
  return wantsFirst && rules.S33 === undefined ? { ...profile, rules: { ...rules, S33: "error" } } : profile;
}
