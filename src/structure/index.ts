export {
  resolveProfile,
  type CallBlockForm,
  type CallIdForm,
  type NameForm,
  type StructureProfile,
} from "./profiles/profile.js";
export { builtInProfiles, type BuiltInProfile } from "./profiles/built-in-profiles.js";
export {
  repairConversation,
  resolveRepairOptions,
  type RepairedConversation,
  type RepairOptions,
} from "./repair/repair.js";
export type { RepairChoices } from "./repair/repair-choices.js";
export type { RepairAction, StructureRepair } from "./repair/repair-session.js";
export {
  structureRules,
  type StructureIssue,
  type StructurePurpose,
  type StructureRule,
  type StructureSeverity,
} from "./rules/rules.js";
export {
  sanitizeConversation,
  type SanitizeChange,
  type SanitizedConversation,
  type SanitizeOptions,
} from "./sanitize.js";
export {
  assertConversation,
  resolveStructureOptions,
  throwOnErrors,
  validateConversation,
  type StructureOptions,
} from "./validate.js";
