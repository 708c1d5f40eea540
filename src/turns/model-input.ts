import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { report, type MemoryEventHandler } from "../base/events.js";
import { roleOf } from "../messages/roles.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import { synthesizedKey } from "../structure/repair/repair-session.js";
import { resolveRepairOptions, type RepairPlan } from "../structure/options.js";
import { repairAs } from "../structure/repair/repair.js";
import { findIssues } from "../structure/rules/find-issues.js";

/** The conversation for a model: what came before the turn, and the turn so far. */
export interface ModelInputRequest {
  readonly history: readonly BaseMessage[];
  readonly turn: readonly BaseMessage[];
  readonly profile: StructureProfile;
  readonly sessionId: string;
  readonly onEvent: MemoryEventHandler | undefined;
}

/** The two parts as a model takes them; `history` begins with all system messages. */
export interface ModelInput {
  readonly history: BaseMessage[];
  readonly turn: BaseMessage[];
}

/** The repair for each profile; an application uses the same few with every turn. */
const plans = new WeakMap<StructureProfile, RepairPlan>();

function planFor(profile: StructureProfile): RepairPlan {
  const plan = plans.get(profile) ?? resolveRepairOptions("modelInput", { profile });
  plans.set(profile, plan);
  return plan;
}

/**
 * The conversation as a model of the profile accepts it: system messages at the front, and what it would refuse
 * repaired and reported. What the caller brings in this turn is left as it is; so are the stored messages.
 */
export function modelInput(request: ModelInputRequest): ModelInput {
  const { profile, sessionId, onEvent } = request;
  const isSystem = (message: BaseMessage) => roleOf(message) === "system";
  const turn = request.turn.filter((message) => !isSystem(message));
  const systems = [...request.history, ...request.turn].filter(isSystem);
  const history = [...systems, ...request.history.filter((message) => !isSystem(message))];
  // The repair sees both parts, because a tool result of the turn answers a call at the end of the history.
  const { messages, repairs } = repairAs(planFor(profile), [...history, ...turn]);
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
 * The repaired history alone, for a turn that the repair of both would change. Where the profile has no two messages of
 * the user in a row, a placeholder of the model parts them, because the turn's own message is not for us to merge.
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
