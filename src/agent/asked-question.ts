import {
  type BaseMessage,
  type BaseMessageLike,
  coerceMessageLikeToMessage,
  RemoveMessage,
} from "@langchain/core/messages";
import { ConfigurationError } from "../base/errors.js";
import { answeredId, callsOf, mayCall, type Call } from "../messages/calls.js";
import { sameContent } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";
import { isRecord } from "../messages/values.js";
import { firstOfBlock } from "../turns/new-input.js";
import { idsOf, openTurn, storedIds } from "../turns/open-turn.js";
import type { RunSetting } from "./run.js";
import { checkpointerOf, newestPlace, type Checkpoint, type currentConfig } from "./run-place.js";
import { removeAll } from "./state.js";

type Values = Readonly<Record<string, unknown>>;

/** Pauses before reads of a checkpoint, in milliseconds: LangGraph writes checkpoints asynchronously. */
const pausesMs = [10, 50, 200, 1_000];

/** Channels of LangGraph whose values are steps that have not run. */
const [pendingBranch, pendingTasks] = ["branch:to:", "__pregel_tasks"];

type RunParts = Pick<RunSetting, "session" | "place">;

/** The input of a run, and the messages of the state before it. */
interface RunInput {
  readonly messages: readonly BaseMessage[];
  readonly before: readonly BaseMessage[];
  /** True if the run before ended, so that what follows its question is a whole answer. */
  readonly follows: () => Promise<boolean>;
}

/** The state in which a run answers its question. */
export interface AskedState {
  readonly messages: readonly BaseMessage[];
  /** Index of the first message that the run was given to answer; all before it is of earlier runs. */
  readonly first: number;
  /** State update that makes the state so; undefined if it is. */
  readonly update?: BaseMessage[];
}

/**
 * Tells what a run beside a checkpointer was asked. A repeated question (a retry, an edit, a regeneration) keeps its
 * old place in the state, where later questions or its old answer follow it: moves an older question to the end, and
 * removes from behind the newest one what is no longer stored. Undefined where nothing tells.
 *
 * @throws ConfigurationError `durability` if the checkpointer does not tell which of several questions is repeated.
 */
export async function askedState(
  state: readonly BaseMessage[],
  config: ReturnType<typeof currentConfig>,
  { session, place }: RunParts,
): Promise<AskedState | undefined> {
  const input = await inputOf(state, config, { session, place });
  const asked = input?.messages.findLastIndex(isHuman) ?? -1;
  const last = state.findLastIndex(isHuman);
  const id = input?.messages[asked]?.id;
  // A message without an id is a new one.
  const at = id === undefined ? last : state.findIndex((message) => message.id === id);
  if (input === undefined || asked < 0 || at < 0) {
    return undefined;
  }
  const block = input.messages.slice(firstOfBlock(input.messages, asked), asked + 1);
  if (at < last) {
    return movedToEnd(state, new Set(idsOf(block)));
  }
  const first = at + 1 - lengthOfEqualEnd(state.slice(0, at + 1), block);
  const old = await leftovers(state, at, { ...input, asked });
  const stored = old.length === 0 ? undefined : await storedIds(session, old);
  const gone = new Set(old.filter((each) => stored?.has(each) !== true));
  if (gone.size === 0) {
    return { messages: state, first };
  }
  const messages = state.filter((message) => message.id === undefined || !gone.has(message.id));
  return { messages, first, update: [...gone].map((each) => new RemoveMessage({ id: each })) };
}

function movedToEnd(state: readonly BaseMessage[], block: ReadonlySet<string>): AskedState {
  const isOfBlock = (message: BaseMessage) => message.id !== undefined && block.has(message.id);
  const others = state.filter((message) => !isOfBlock(message));
  const messages = [...others, ...state.filter(isOfBlock)];
  return { messages, first: others.length, update: [new RemoveMessage({ id: removeAll }), ...messages] };
}

/** Number of messages at the end of the state that are the last ones of the block. */
function lengthOfEqualEnd(state: readonly BaseMessage[], block: readonly BaseMessage[]): number {
  let length = 0;
  while (length < block.length) {
    const { id } = block.at(-1 - length)!;
    const there = state.at(-1 - length);
    if (there === undefined || (id !== undefined && id !== there.id)) {
      break;
    }
    length += 1;
  }
  return length;
}

/**
 * Ids of an earlier run's answer behind the question. Whole steps of a run that did not end are kept: this one goes on.
 * A step whose tools did not all answer, because the process died in them or a human was asked, is taken anew.
 */
async function leftovers(
  state: readonly BaseMessage[],
  question: number,
  input: RunInput & { readonly asked: number },
): Promise<string[]> {
  const given = new Set(idsOf(input.messages));
  const added = input.messages.slice(input.asked + 1).filter(({ id }) => id === undefined).length;
  const isNew = input.messages[input.asked]!.id === undefined;
  const behind = isNew ? [] : state.slice(question + 1, state.length - added).filter(({ id }) => !given.has(id!));
  const answers = behind.findLastIndex((message) => roleOf(message) === "ai" && !mayCall(message)) + 1;
  if (behind.length === 0 || answers === behind.length) {
    return idsOf(behind);
  }
  const asked = state[question]!;
  const before = input.before.find(({ id }) => id === asked.id);
  const isEdited = before !== undefined && !sameContent(before, asked);
  const steps = behind.slice(answers);
  const isOver = isEdited || (await input.follows());
  return idsOf(isOver ? behind : [...behind.slice(0, answers), ...steps.slice(firstOfOpenStep(steps))]);
}

/** The index of the first message of a step with a call that has no result; the length where there is none. */
function firstOfOpenStep(steps: readonly BaseMessage[]): number {
  const answered = new Set(steps.map(answeredId));
  const isOpen = ({ id, readable }: Call) => readable && !answered.has(id);
  const first = steps.findIndex((message) => callsOf(message).some(isOpen));
  return first < 0 ? steps.length : first;
}

/** The input of a run: from its first checkpoint, or by comparing the state with the checkpoint before it. */
async function inputOf(
  state: readonly BaseMessage[],
  config: ReturnType<typeof currentConfig>,
  { session, place }: RunParts,
): Promise<RunInput | undefined> {
  const checkpointer = checkpointerOf(config);
  if (typeof checkpointer.getTuple !== "function") {
    return undefined;
  }
  const read = (at: object) => checkpointer.getTuple!(at);
  // Two steps precede this hook's: the input, and its application to the state.
  const first = Number(config.metadata?.["langgraph_step"]) - 2;
  const newest = newestPlace(config);
  let found = await read(newest);
  if (stepOf(found) < first) {
    const input = comparedInput(state, found) ?? (await namedInput(state, found, { session, place }));
    for (let attempt = 0; !input && stepOf(found) < first && attempt < pausesMs.length; attempt += 1) {
      await new Promise((resolve) => setTimeout(resolve, pausesMs[attempt]));
      found = await read(newest);
    }
    if (input !== undefined) {
      return input;
    }
  }
  if (stepOf(found) < first) {
    throw new ConfigurationError("durability", unknownQuestion);
  }
  // Hooks of other middleware may stand between the input and this one.
  const isInput = (at: Checkpoint) => stepOf(at) <= first && at.metadata?.source === "input";
  while (found !== undefined && !isInput(found)) {
    found = found.parentConfig && (await read(found.parentConfig));
  }
  return found && givenInput(found, read);
}

const unknownQuestion =
  "redisMemoryMiddleware: a question of this thread is asked again, and the checkpointer does not tell which one: " +
  'with durability "exit" it does not hold what the run was given. Use the durability "async" or "sync", name the ' +
  "turn by the configurable.turnId under which it is stored, or ask under a new message id.";

function givenInput(
  { checkpoint, parentConfig }: Checkpoint,
  read: (place: object) => Promise<Checkpoint | undefined>,
): RunInput | undefined {
  const values = checkpoint?.channel_values;
  const given = values?.["__start__"];
  const messages = isRecord(given) ? messagesIn(given) : undefined;
  const follows = async () => parentConfig !== undefined && hasEnded(await read(parentConfig));
  return messages && { messages, before: messagesIn(values) ?? [], follows };
}

/** The messages that are new or changed since the checkpoint of the run before; undefined without a user message. */
function comparedInput(state: readonly BaseMessage[], previous: Checkpoint | undefined): RunInput | undefined {
  const before = messagesIn(previous?.checkpoint?.channel_values) ?? [];
  const byId = new Map(before.map((message) => [message.id, message]));
  const messages = state.filter((message) => {
    const known = byId.get(message.id);
    return known === undefined || !sameContent(known, message);
  });
  const questions = state.filter(isHuman);
  // If nothing changed, the only question is the one that is asked again.
  const given = messages.some(isHuman) ? messages : questions.length === 1 ? questions : undefined;
  return given && { messages: given, before, follows: async () => hasEnded(previous) };
}

/** The question of the turn that the caller names, if the session holds it. One round trip, two outside the view. */
async function namedInput(
  state: readonly BaseMessage[],
  previous: Checkpoint | undefined,
  { session, place: { turnId } }: RunParts,
): Promise<RunInput | undefined> {
  const { stored } = turnId === undefined ? { stored: [] } : await openTurn({ session, turnId, input: [] });
  const ids = new Set(idsOf(stored.map(({ message }) => message)));
  const messages = state.filter((message) => isHuman(message) && message.id !== undefined && ids.has(message.id));
  return messages.length === 0 ? undefined : { messages, before: state, follows: async () => hasEnded(previous) };
}

function messagesIn(values: Values | undefined): BaseMessage[] | undefined {
  const messages = values?.["messages"];
  const list = Array.isArray(messages) ? messages : [messages];
  return messages === undefined ? undefined : list.map((like) => coerceMessageLikeToMessage(like as BaseMessageLike));
}

/** True for the last checkpoint of a run that ended, told by LangGraph's channels of steps to run. */
function hasEnded(previous: Checkpoint | undefined): boolean {
  const values = previous?.checkpoint?.channel_values;
  const tasks = values?.[pendingTasks];
  const isIdle = Object.keys(values ?? {}).every((channel) => !channel.startsWith(pendingBranch));
  return values !== undefined && isIdle && !(Array.isArray(tasks) && tasks.length > 0);
}

function stepOf(checkpoint: Checkpoint | undefined): number {
  return checkpoint?.metadata?.step ?? -Infinity;
}

function isHuman(message: BaseMessage): boolean {
  return roleOf(message) === "human";
}
