import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { report, type MemoryEventHandler } from "../base/events.js";
import { roleOf } from "../messages/roles.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import { synthesizedKey } from "../structure/repair/session.js";
import { resolveRepairOptions, type RepairPlan } from "../structure/options.js";
import { repairAs } from "../structure/repair/repair.js";
import { findIssues, isValid } from "../structure/rules/find-issues.js";

/** The conversation for a model: the history before the turn, and the turn so far. */
export interface ModelInputRequest {
  readonly history: readonly BaseMessage[];
  readonly turn: readonly BaseMessage[];
  readonly profile: StructureProfile;
  readonly sessionId: string;
  readonly onEvent: MemoryEventHandler | undefined;
}

/** Both parts in the form of the profile; `history` begins with all system messages. */
export interface ModelInput {
  readonly history: BaseMessage[];
  readonly turn: BaseMessage[];
}

/** Cache of repair plans by profile. */
const plans = new WeakMap<StructureProfile, RepairPlan>();

function planFor(profile: StructureProfile): RepairPlan {
  const plan = plans.get(profile) ?? resolveRepairOptions("modelInput", { profile });
  plans.set(profile, plan);
  return plan;
}

/**
 * The conversation in a form that the profile accepts: system messages first, violations repaired and reported. New
 * messages of this turn and stored messages are not modified.
 */
export function modelInput(request: ModelInputRequest): ModelInput {
  const { profile, sessionId, onEvent } = request;
  const isSystem = (message: BaseMessage) => roleOf(message) === "system";
  const turn = request.turn.filter((message) => !isSystem(message));
  const systems = [...request.history, ...request.turn].filter(isSystem);
  const history = [...systems, ...request.history.filter((message) => !isSystem(message))];
  // Repairs both parts together, because a tool result of the turn may answer a call at the end of the history.
  const all = [...history, ...turn];
  const plan = planFor(profile);
  if (isValid(all, plan.criteria)) {
    return { history, turn };
  }
  const { messages, repairs } = repairAs(plan, all);
  if (repairs.length === 0) {
    return { history, turn };
  }
  report(onEvent, { type: "repaired", sessionId, rules: [...new Set(repairs.map(({ rule }) => rule))] });
  const split = messages.length - turn.length;
  const isIntact = split >= 0 && turn.every((message, index) => messages[split + index] === message);
  return { history: isIntact ? messages.slice(0, split) : historyBefore(turn, { history, profile }), turn };
}

const missingAnswer = "(The user's message was not answered.)";

/**
 * Repairs the history alone, for a turn that a joint repair would change. If the profile forbids consecutive user
 * messages, an AI placeholder separates them, because the turn's own message must not be merged.
 */
function historyBefore(
  turn: readonly BaseMessage[],
  { history, profile }: { readonly history: BaseMessage[] } & Pick<ModelInputRequest, "profile">,
): BaseMessage[] {
  const plan = planFor(profile);
  const { messages } = repairAs(plan, history);
  const issues = findIssues([...messages, ...turn], plan.criteria);
  const isRun = issues.some(({ rule, severity, index }) => {
    return rule === "S06" && severity === "error" && index === messages.length;
  });
  if (!isRun || roleOf(turn[0]!) !== "human") {
    return messages;
  }
  const id = `synthesized-answer-${messages.at(-1)!.id ?? messages.length}`;
  const kwargs = { [synthesizedKey]: true };
  return [...messages, new AIMessage({ content: missingAnswer, id, additional_kwargs: kwargs })];
}
