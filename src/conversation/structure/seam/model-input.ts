import { AIMessage, type BaseMessage, isBaseMessage } from "@langchain/core/messages";
import { BoundedMap } from "../../../base/bounds.js";
import { report, type MemoryEvent, type MemoryEventHandler } from "../../../base/events.js";
import { blocksOf, foreignIn, type ForeignCompaction } from "../../messages/content.js";
import { roleOf } from "../../messages/message.js";
import type { LedgerWalk, PrefixParts } from "../ledger.js";
import { type RepairOptions, type RepairPlan, resolveRepairOptions, resolveProfile } from "../options.js";
import type { ProfileChoice } from "../profiles/check-profile.js";
import type { StructureProfile } from "../profiles/profile.js";
import { repairRequest } from "../repair/repair.js";
import { synthesized } from "../repair/order.js";
import { type FrontMarks, frontMarks, noMarks } from "../rules/request-rules.js";
import { findIssues } from "../rules/find-issues.js";
import type { ModelProfile } from "./profile-of.js";

/** A request to a model, as far as its messages' form depends on it. */
export interface PlannedRequest {
  /** The model that is called. */
  readonly model: unknown;
  /** The tools that are sent beside those that are bound to the model; undefined if they are not known. */
  readonly tools?: readonly unknown[] | undefined;
  /** The system text that is sent in front of the messages. */
  readonly system?: PrefixParts["system"];
  /** The config of the call, for models that `initChatModel` makes by it. */
  readonly config?: object | undefined;
  readonly choices?: RepairOptions | undefined;
}

/** Properties derived from a model, and the repair that follows from them. */
export interface ModelPlan {
  readonly plan: RepairPlan;
  readonly profile: ModelProfile;
}

/** Models that no config chooses, with their plan where the caller makes no choices. */
const knownModels = new WeakMap<object, ModelPlan>();

/** The repair of a request's messages for its model. @throws ConfigurationError naming `owner` */
export async function planForModel(owner: string, request: PlannedRequest): Promise<ModelPlan> {
  const { model, tools, system, choices } = request;
  const { profile, plan } = knownModels.get(model as object) ?? (await readModel(request));
  const { criteria, ...made } = choices === undefined ? plan : planWith(owner, profile, choices);
  const hasTools = tools === undefined ? profile.hasTools : tools.length > 0 || profile.hasTools === true;
  const said = isBaseMessage(system) ? blocksOf(system) : [];
  const marks = criteria.marks ?? frontMarks([...(tools ?? profile.tools), ...said]);
  return { plan: { ...made, criteria: { ...criteria, hasTools: criteria.hasTools ?? hasTools, marks } }, profile };
}

async function readModel({ model, config }: PlannedRequest): Promise<ModelPlan> {
  const { readProfile } = await import("./profile-of.js");
  const { profile, isFixed } = await readProfile(model, config);
  const modelPlan = { profile, plan: planWith("profile", profile) };
  if (isFixed) {
    knownModels.set(model as object, modelPlan);
  }
  return modelPlan;
}

function planWith(owner: string, { profile, storesReasoning, ...facts }: ModelProfile, choices = {}): RepairPlan {
  // The class stands for a name that is not told: where neither is known, any model may be called.
  const { model = facts.window.model } = facts;
  const named = model === undefined ? {} : { model };
  return resolveRepairOptions(owner, { purpose: "model-input", profile, storesReasoning, ...named, ...choices });
}

/** The repair plan of a profile for a request with these marks in front of its messages. */
export function planFor(profile: StructureProfile, marks: FrontMarks = noMarks): RepairPlan {
  const { criteria, choices } = resolveRepairOptions("modelInput", { profile });
  return { criteria: { ...criteria, marks }, choices };
}

/** The session of a request, and who hears of what is not known and what is left out. */
export interface RequestObserver {
  readonly sessionId: string;
  readonly onEvent: MemoryEventHandler | undefined;
}

/**
 * The plan of a request: for the given profile, or with `"auto"` for that of the request's model. Reads the model in
 * either case, because thoughts are bound to what stands before them under any profile. Reports each class of models
 * that is not known once.
 */
export async function planOf(
  profile: ProfileChoice,
  request: PlannedRequest,
  { sessionId, onEvent }: RequestObserver,
): Promise<ModelPlan> {
  const modelPlan = await planForModel("profile", request);
  const { guessedFor: className, profile: own } = modelPlan.profile;
  if (profile !== "auto") {
    const { criteria, choices } = planFor(resolveProfile("profile", profile), modelPlan.plan.criteria.marks);
    const adapter = criteria.profile.adapter ?? (className === undefined ? own.adapter : undefined);
    const held = adapter === undefined ? criteria.profile : { ...criteria.profile, adapter };
    return { ...modelPlan, plan: { choices, criteria: { ...criteria, profile: held } } };
  }
  if (className !== undefined) {
    reportOnce(onEvent, { type: "profile_guessed", sessionId, className }, className);
  }
  return modelPlan;
}

/** Reports a model whose window is not known, once. */
export function reportUnknownWindow(model: string, { sessionId, onEvent }: RequestObserver): void {
  reportOnce(onEvent, { type: "window_unknown", sessionId, model }, model);
}

/** Reports a compaction that a request goes out without, once per change. */
export function reportCompaction(
  { message: { id }, provider }: ForeignCompaction,
  became: "summary" | "transcript" | "nothing",
  { sessionId, onEvent }: RequestObserver,
): void {
  const event = { type: "compaction_dropped", sessionId, messageId: id, provider, became } as const;
  reportOnce(onEvent, event, sessionId, `${became} ${id}`);
}

/** Reports what becomes of a compaction in messages that are given the profile's form. */
export function reportForeign(
  messages: readonly BaseMessage[],
  { adapter }: StructureProfile,
  observer: RequestObserver,
): void {
  const foreign = foreignIn(messages, adapter);
  if (foreign !== undefined) {
    reportCompaction(foreign, foreign.text === undefined ? "nothing" : "summary", observer);
  }
}

/** The last reports, by handler: the options of several memories and middlewares may name the same one. */
const reported = new WeakMap<MemoryEventHandler, BoundedMap<string, string>>();
const maxReported = 10_000;

/** Reports, unless the last event of this type to this handler about the same had the same value. */
function reportOnce(onEvent: MemoryEventHandler | undefined, event: MemoryEvent, about: string, value = ""): void {
  if (onEvent === undefined) {
    return;
  }
  const values = reported.get(onEvent) ?? new BoundedMap<string, string>(maxReported);
  reported.set(onEvent, values);
  if (values.get(`${event.type} ${about}`) !== value) {
    values.set(`${event.type} ${about}`, value);
    report(onEvent, event);
  }
}

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

/**
 * The conversation in a form that the profile accepts: system messages first, violations repaired and reported. The
 * turn keeps its messages, one by one, each in the profile's form; the given objects are not modified.
 */
export function modelInput({ plan, sessionId, onEvent, ...parts }: ModelInputRequest): ModelInput {
  const isSystem = (message: BaseMessage) => roleOf(message) === "system";
  const turn = parts.turn.filter((message) => !isSystem(message));
  const systems = [...parts.history, ...parts.turn].filter(isSystem);
  const history = [...systems, ...parts.history.filter((message) => !isSystem(message))];
  // Repairs both parts together, because a tool result of the turn may answer a call at the end of the history.
  const { messages, repairs } = repairRequest(plan, [...history, ...turn]);
  if (repairs.length > 0) {
    report(onEvent, { type: "repaired", sessionId, rules: [...new Set(repairs.map(({ rule }) => rule))] });
  }
  const before = () => historyBefore(turn, { history, plan });
  return (
    splitBefore(turn, messages) ??
    splitBefore(turn, repairRequest(plan, [...before(), ...turn]).messages) ?? { history: before(), turn }
  );
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
  const { messages } = repairRequest(plan, history);
  const issues = findIssues([...messages, ...turn], plan.criteria);
  const isRun = issues.some(({ rule, severity, index }) => {
    return rule === "S06" && severity === "error" && index === messages.length;
  });
  if (!isRun || roleOf(turn[0]!) !== "human") {
    return messages;
  }
  const marked = synthesized(`answer-${messages.at(-1)!.id ?? messages.length}`);
  return [...messages, new AIMessage({ content: missingAnswer, ...marked })];
}

/** A request of a session to a model. */
export interface ThoughtRequest extends PrefixParts {
  readonly messages: readonly BaseMessage[];
  readonly profile: ModelProfile;
}

/** A request with the thoughts that fit. */
export interface BoundThoughts {
  readonly messages: BaseMessage[];
  /** The model's answer to it, stamped. */
  readonly stamp: <M extends BaseMessage>(answer: M) => M;
}

/**
 * The request with each thought behind the prefix that it was made to; undefined for a model that does not bind its
 * thoughts. Reports thoughts that are left out, once per change.
 */
export async function boundThoughts(
  { profile, messages, ...parts }: ThoughtRequest,
  observer: RequestObserver,
): Promise<BoundThoughts | undefined> {
  // The ledger is loaded when such a model is first called.
  if (!profile.bindsThoughts) {
    return undefined;
  }
  const { stampAnswer, walkLedger } = await import("../ledger.js");
  const walk = walkLedger(messages, parts);
  reportDropped(walk, messages, observer);
  return { messages: walk.messages, stamp: (answer) => stampAnswer(answer, walk.prefix) };
}

/** Reports thoughts that are left out, once per change. */
export function reportDropped(
  walk: LedgerWalk,
  messages: readonly BaseMessage[],
  { sessionId, onEvent }: RequestObserver,
): void {
  if (!walk.isNew) {
    return;
  }
  // A model that does not think any more gives no later sign that a change is known.
  const last = messages.findLastIndex((message, index) => message !== walk.messages[index]);
  const { sent, dropped, firstAt, cause } = walk;
  const event = { type: "thinking_dropped", sessionId, cause: cause!, firstAt, sent, dropped } as const;
  reportOnce(onEvent, event, sessionId, messages[last]!.id ?? String(last));
}
