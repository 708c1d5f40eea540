export type { Speaker } from "../messages/roles.js";
export type { Call } from "../messages/calls.js";
export { editMessage, type MessageEdit } from "../messages/copies/edit-message.js";
export type { CallChange } from "../messages/copies/edits.js";
export type { Redaction } from "../messages/copies/clean-value.js";
export { redact } from "../messages/copies/redact.js";
export { assertConversation, validateConversation } from "../structure/validate.js";
export type { StructureOptions } from "../structure/options.js";
export { profileOf, type ModelProfile, type ModelWindow } from "../structure/seam/profile-of.js";
export { toModel, type ToModelOptions, type ToModelResult } from "../structure/seam/to-model.js";
export { wired, type WiredModelOptions } from "../reducers/wired.js";
export type { Adapter } from "../structure/adapters/adapter.js";
export { builtInProfiles, type BuiltInProfile } from "../structure/profiles/built-in-profiles.js";
export { repairConversation } from "../structure/repair-conversation.js";
export type { RepairedConversation } from "../structure/repair/repair.js";
export type { RepairChoices, RepairOptions } from "../structure/options.js";
export {
  sanitizeConversation,
  type SanitizeChange,
  type SanitizeOptions,
  type SanitizedConversation,
} from "../structure/sanitize.js";
export {
  structureRules,
  type StructureIssue,
  type StructurePurpose,
  type StructureRule,
  type StructureSeverity,
} from "../structure/rules/rules.js";
export type { CallIdForm, NameForm, StructureProfile } from "../structure/profiles/profile.js";
export type { RepairAction, StructureRepair } from "../structure/repair/session.js";
export { conversationGuard, type ConversationGuardOptions } from "../reducers/conversation-guard.js";
export {
  stampAnswer,
  walkLedger,
  type AnswerPrefix,
  type DroppedCause,
  type LedgerWalk,
  type PrefixParts,
} from "../structure/ledger/walk-ledger.js";
