export type { Speaker } from "../conversation/messages/message.js";
export type { Call } from "../conversation/messages/content.js";
export { editMessage, type MessageEdit } from "../conversation/messages/copies/edit-message.js";
export type { CallChange } from "../conversation/messages/copies/plain-answer.js";
export { redact, type Redaction } from "../conversation/messages/copies/redact.js";
export { assertConversation, validateConversation, repairConversation } from "../conversation/structure/validate.js";
export type { StructureOptions, RepairChoices, RepairOptions } from "../conversation/structure/options.js";
export { profileOf, type ModelProfile, type ModelWindow } from "../conversation/structure/seam/profile-of.js";
export { toModel, type ToModelOptions, type ToModelResult } from "../conversation/structure/seam/to-model.js";
export { wired, type WiredModelOptions } from "../conversation/reducers/wired.js";
export type { Adapter } from "../conversation/structure/adapters/adapter.js";
export { builtInProfiles, type BuiltInProfile } from "../conversation/structure/profiles/built-in-profiles.js";
export type { RepairedConversation } from "../conversation/structure/repair/repair.js";
export { structureRules } from "../conversation/structure/rules/rules.js";
export type {
  StructureIssue,
  StructurePurpose,
  StructureRule,
  StructureSeverity,
} from "../conversation/structure/rules/rules.js";
export type { CallIdForm, NameForm, StructureProfile } from "../conversation/structure/profiles/profile.js";
export type { RepairAction, StructureRepair } from "../conversation/structure/repair/session.js";
export { conversationGuard, type ConversationGuardOptions } from "../conversation/reducers/conversation-guard.js";
export { stampAnswer, walkLedger } from "../conversation/structure/ledger.js";
export type { AnswerPrefix, DroppedCause, LedgerWalk, PrefixParts } from "../conversation/structure/ledger.js";
