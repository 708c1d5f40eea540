import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { v6 } from "@langchain/core/utils/uuid";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import type { RedisSaver } from "../../../../src/langgraph/checkpoint/redis-saver.js";
import { tokenText, writeRuns } from "../../journal/runs.js";
import { tokensOf, type Lane } from "../lane.js";
import type { Operation } from "./operation.js";

/** The newest checkpoint of a thread, as its owner knows it. */
export interface ThreadState {
  readonly messages: readonly BaseMessage[];
  /** Undefined before the first checkpoint. */
  readonly id: string | undefined;
  readonly step: number;
}

/** More than `keep` lets stand, so that what only older checkpoints need is dropped in between. */
const mostPuts = 14;

/**
 * Puts checkpoints of the thread that this process owns, by two savers as two instances do. The messages grow; a draft
 * stands in the first and the last checkpoint, and its items may be dropped between them.
 */
export const putCheckpoints: Operation = {
  name: "put-checkpoints",
  weight: ({ removals }) => (removals === "erase" ? 0 : 1),
  run: async (lane, random) => {
    const [first, second] = lane.doors.savers;
    const [one, other] = random.chance(0.5) ? [first, second] : [second, first];
    const puts = random.between(1, mostPuts);
    const isPut = await put(lane, one, { count: random.between(1, 3), hasDraft: true });
    for (let number = 0; isPut && number < puts; number += 1) {
      if (!(await put(lane, other, { count: random.between(0, 2), hasDraft: false }))) {
        return;
      }
    }
    if (isPut && (await put(lane, one, { count: 1, hasDraft: true }))) {
      await read(lane, one);
    }
  },
};

/** Puts the next checkpoint. A failed one may be stored or not, so the owner reads before it goes on. */
async function put(
  lane: Lane,
  saver: RedisSaver,
  { count, hasDraft }: { readonly count: number; readonly hasDraft: boolean },
): Promise<boolean> {
  if (lane.thread === undefined && !(await read(lane, saver))) {
    return false;
  }
  const { messages, id: parent, step } = lane.thread!;
  const turn = lane.newTurn();
  const added = Array.from({ length: count }, (_, index) => message(turn, index));
  const values = { messages: [...messages, ...added], draft: hasDraft ? draftOf(lane.threadId) : [] };
  const id = checkpointId(step);
  const versions = { messages: step, draft: step };
  const checkpoint = { ...emptyCheckpoint(), id, channel_values: values, channel_versions: versions };
  const config = { configurable: { thread_id: lane.threadId, checkpoint_ns: "", checkpoint_id: parent } };
  lane.thread = undefined;
  const isPut = await lane.ask({ do: "put", thread: lane.threadId, turn, count, door: "saver" }, async () => {
    await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, versions);
  });
  lane.thread = isPut ? { messages: values.messages, id, step: step + 1 } : undefined;
  return isPut;
}

/**
 * An id as LangGraph's, which sorts by time. `uuid6` of LangGraph keeps its state in a package that simulated processes
 * share, and goes back where their clocks differ.
 */
function checkpointId(step: number): string {
  const now = performance.timeOrigin + performance.now();
  const msecs = Math.floor(now);
  return v6({ clockseq: step, msecs, nsecs: Math.floor((now - msecs) * 10_000) });
}

/** Reads the newest checkpoint, as who takes the thread over does. */
async function read(lane: Lane, saver: RedisSaver): Promise<boolean> {
  return lane.ask({ do: "get", thread: lane.threadId, door: "saver" }, async () => {
    const tuple = await saver.getTuple({ configurable: { thread_id: lane.threadId } });
    const messages = (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
    lane.thread = { messages, id: tuple?.checkpoint.id, step: (tuple?.metadata?.step ?? 0) + 1 };
    return { runs: writeRuns(tokensOf(messages)) };
  });
}

function message(turn: string, index: number): AIMessage {
  const place = tokenText({ turn, index });
  return new AIMessage({ content: `${place} ${"and so on ".repeat(20)}`, id: `${turn}-${index}` });
}

/** The same texts each time, long enough to be items of their own. */
function draftOf(thread: string): string[] {
  return ["first", "second"].map((part) => `${thread} ${part} part of the draft ${"and so on ".repeat(40)}`);
}
