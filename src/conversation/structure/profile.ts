import { ConfigurationError } from "../../errors.js";
import { builtInProfiles, type BuiltInProfile } from "./profiles.js";
import { structureRules, type StructureRule, type StructureSeverity } from "./rules.js";

/** How call ids must look. What is left out is free. */
export interface CallIdForm {
  /** The characters that may occur, one after another. */
  readonly characters?: string;
  /** Fewest characters. @default 1 */
  readonly minLength?: number;
  /** Most characters. */
  readonly maxLength?: number;
  /** What it means that a later message calls an id again, rule S11. Within one message it is what S11 says. @default what S11 says */
  readonly reuse?: StructureSeverity | "accepted";
}

/**
 * What one provider accepts: a plain value, so that one of your own is written down like those of the package. Rules that are not named do
 * not hold.
 */
export interface StructureProfile {
  readonly name: string;
  readonly rules: Readonly<Partial<Record<StructureRule, StructureSeverity>>>;
  /** For rules S11 and S13. */
  readonly callIds?: CallIdForm;
  /** For rule S09: `calls` where results must come in the order of their calls. @default "any" */
  readonly resultOrder?: "any" | "calls";
}

/** The profile of this name, or the profile itself. @throws ConfigurationError for an unknown name or rule. */
export function resolveProfile(profile: BuiltInProfile | StructureProfile = "langchain"): StructureProfile {
  if (typeof profile === "string") {
    if (!Object.hasOwn(builtInProfiles, profile)) {
      throw new ConfigurationError("profile", `Option "profile" must be a profile or one of ${Object.keys(builtInProfiles).join(", ")}.`);
    }
    return builtInProfiles[profile];
  }
  if (typeof profile !== "object" || profile === null || typeof profile.rules !== "object" || profile.rules === null) {
    throw new ConfigurationError("profile", `Option "profile" must be a name or an object with a name and rules.`);
  }
  const unknown = Object.keys(profile.rules).find((rule) => !Object.hasOwn(structureRules, rule));
  if (unknown !== undefined) {
    throw new ConfigurationError("profile", `Option "profile" names rule "${unknown}", which does not exist; the rules are S01 to S31.`);
  }
  return profile;
}
