import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { report, type MemoryEventHandler } from "../base/events.js";
import { BoundedMap } from "../base/bounded-map.js";
import { roleOf } from "../messages/roles.js";
import { fieldsOf, isRecord, stringIn } from "../messages/values.js";
import type { LedgerWalk, PrefixParts } from "../structure/ledger/walk-ledger.js";
import { bindsThoughts } from "../structure/profiles/of-model.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import { synthesizedKey } from "../structure/repair/session.js";
import { resolveRepairOptions, type RepairPlan } from "../structure/options.js";
import { repairAs } from "../structure/repair/repair.js";
import type { GuessObserver, PlannedRequest } from "../structure/seam/model-plan.js";
import type { StructureRule } from "../structure/rules/rules.js";
import { findIssues, isValid } from "../structure/rules/find-issues.js";

/** The conversation for a model: the history before the turn, and the turn so far. */
export interface ModelInputRequest {
  readonly history: readonly BaseMessage[];
  readonly turn: readonly BaseMessage[];
  readonly plan: RepairPlan;
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

/** The repair plan of a profile. */
export function planFor(profile: StructureProfile): RepairPlan {
  const plan = plans.get(profile) ?? resolveRepairOptions("modelInput", { profile });
  plans.set(profile, plan);
  return plan;
}

/** The repair plan of a request: that of the given profile, or with `"auto"` that of the request's model. */
export async function planOf(
  profile: StructureProfile | "auto",
  request: PlannedRequest,
  observer: GuessObserver,
): Promise<RepairPlan> {
  if (profile !== "auto") {
    return planFor(profile);
  }
  const { autoPlan } = await import("../structure/seam/model-plan.js");
  return autoPlan("modelInput", request, observer);
}

/**
 * The conversation in a form that the profile accepts: system messages first, unless the profile takes them where they
 * stand; violations repaired and reported. The turn keeps its messages, one by one, each in the profile's form; the
 * given objects are not modified.
 */
export function modelInput(request: ModelInputRequest): ModelInput {
  const { plan, sessionId, onEvent } = request;
  const asGiven = plan.criteria.profile.lateSystem === "accepted" ? asTheyStand(plan, request) : undefined;
  const { rules, ...input } = asGiven ?? systemsFirst(plan, request);
  if (rules.size > 0) {
    report(onEvent, { type: "repaired", sessionId, rules: [...rules] });
  }
  return input;
}

interface RepairedInput extends ModelInput {
  /** The rules that were broken. */
  readonly rules: ReadonlySet<StructureRule>;
}

type InputParts = Pick<ModelInputRequest, "history" | "turn">;

/** With system messages where they stand; undefined if a message of the turn would move for one. */
function asTheyStand(plan: RepairPlan, { history, turn }: InputParts): RepairedInput | undefined {
  const { messages, rules } = repairedList(plan, [...history, ...turn]);
  const input = splitBefore(turn, messages);
  return input && { ...input, rules };
}

function systemsFirst(plan: RepairPlan, parts: InputParts): RepairedInput {
  const isSystem = (message: BaseMessage) => roleOf(message) === "system";
  const turn = parts.turn.filter((message) => !isSystem(message));
  const systems = [...parts.history, ...parts.turn].filter(isSystem);
  const history = [...systems, ...parts.history.filter((message) => !isSystem(message))];
  // Repairs both parts together, because a tool result of the turn may answer a call at the end of the history.
  const { messages, rules } = repairedList(plan, [...history, ...turn]);
  const before = () => historyBefore(turn, { history, plan });
  const input = splitBefore(turn, messages) ??
    splitBefore(turn, repairAs(plan, [...before(), ...turn]).messages) ?? { history: before(), turn };
  return { ...input, rules };
}

function repairedList(
  { criteria, choices }: RepairPlan,
  messages: BaseMessage[],
): Pick<RepairedInput, "rules"> & { readonly messages: BaseMessage[] } {
  if (isValid(messages, criteria)) {
    return { messages, rules: new Set() };
  }
  const repaired = repairAs({ criteria, choices }, messages);
  return { messages: repaired.messages, rules: new Set(repaired.repairs.map(({ rule }) => rule)) };
}

/** The repaired list as history and turn; undefined if the turn's messages are no longer its last ones, one by one. */
function splitBefore(turn: readonly BaseMessage[], repaired: readonly BaseMessage[]): ModelInput | undefined {
  const split = repaired.length - turn.length;
  const isKept = (message: BaseMessage, index: number) => {
    const formed = repaired[split + index]!;
    const isNamed = message.id !== undefined && formed.id === message.id;
    return formed === message || isNamed || (formed.id === message.id && formed.getType() === message.getType());
  };
  return split >= 0 && turn.every(isKept)
    ? { history: repaired.slice(0, split), turn: repaired.slice(split) }
    : undefined;
}

const missingAnswer = "(The user's message was not answered.)";

/**
 * Repairs the history alone, for a turn that a joint repair would change. If the profile forbids consecutive user
 * messages, an AI placeholder separates them, because the turn's own message must not be merged.
 */
function historyBefore(
  turn: readonly BaseMessage[],
  { history, plan }: { readonly history: BaseMessage[] } & Pick<ModelInputRequest, "plan">,
): BaseMessage[] {
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

/** A request of a session to a model. */
export interface ThoughtRequest extends PrefixParts {
  readonly model: unknown;
  readonly messages: readonly BaseMessage[];
}

/** A request with the thoughts that fit. */
export interface BoundThoughts {
  readonly messages: BaseMessage[];
  /** The model's answer to it, stamped. */
  readonly stamp: <M extends BaseMessage>(answer: M) => M;
}

/** The session of a request, and who hears of thoughts that are left out. */
export interface ThoughtObserver {
  readonly sessionId: string;
  readonly onEvent: MemoryEventHandler | undefined;
}

/**
 * The request with each thought behind the prefix that it was made to; undefined for a model that does not bind its
 * thoughts. Reports thoughts that are left out, once per change.
 */
export async function boundThoughts(
  request: ThoughtRequest,
  observer: ThoughtObserver,
): Promise<BoundThoughts | undefined> {
  const { model, messages, ...parts } = request;
  const name = modelNameOf(model);
  // The ledger is loaded when such a model is first called.
  if (name === undefined || !bindsThoughts(name)) {
    return undefined;
  }
  const { stampAnswer, walkLedger } = await import("../structure/ledger/walk-ledger.js");
  const walk = walkLedger(messages, parts);
  if (walk.isNew) {
    reportOnce(walk, messages, observer);
  }
  return { messages: walk.messages, stamp: (answer) => stampAnswer(answer, walk.prefix) };
}

const maxSessions = 10_000;
/** The newest answer that lost its thoughts when that was reported last, by session. */
const reported = new WeakMap<MemoryEventHandler, BoundedMap<string, string>>();

/** A model that does not think any more gives no later sign that a change is known. */
function reportOnce(walk: LedgerWalk, given: readonly BaseMessage[], { sessionId, onEvent }: ThoughtObserver): void {
  const last = given.findLastIndex((message, index) => message !== walk.messages[index]);
  const name = given[last]!.id ?? String(last);
  const known = onEvent && (reported.get(onEvent) ?? new BoundedMap<string, string>(maxSessions));
  if (onEvent === undefined || known === undefined || known.get(sessionId) === name) {
    return;
  }
  reported.set(onEvent, known.set(sessionId, name));
  const { sent, dropped, firstAt, cause } = walk;
  report(onEvent, { type: "thinking_dropped", sessionId, cause: cause!, firstAt, sent, dropped });
}

/** Fields in which bindings and LangChain's configurable models hold the model. */
const holders = ["bound", "_defaultConfig", "last"];

/** The name of a chat model, also behind bindings; undefined if it has none. */
function modelNameOf(model: unknown, depth = 0): string | undefined {
  if (!isRecord(model) || depth > 5) {
    return undefined;
  }
  const fields = fieldsOf(model);
  const own = stringIn(fields["model"]) ?? stringIn(fields["modelName"]);
  for (const holder of own === undefined ? holders : []) {
    const found = modelNameOf(fields[holder], depth + 1);
    if (found !== undefined) {
      return found;
    }
  }
  return own;
}
