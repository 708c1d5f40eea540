export { resolveProfile, type CallIdForm, type StructureProfile } from "./profile.js";
export { builtInProfiles, type BuiltInProfile } from "./profiles.js";
export {
  structureRules,
  type StructureIssue,
  type StructurePurpose,
  type StructureRule,
  type StructureSeverity,
} from "./rules.js";
export { assertConversation, resolveStructureOptions, throwOnErrors, validateConversation, type StructureOptions } from "./validate.js";
