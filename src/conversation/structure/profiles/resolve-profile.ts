import { builtInProfiles, type BuiltInProfile } from "./built-in-profiles.js";
import { checkProfile, type ProfileChoice } from "./check-profile.js";
import type { StructureProfile } from "./profile.js";

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
