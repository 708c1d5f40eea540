import { emptyCheckpoint, uuid6, type BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { earlierMessages, toolLoopAgent } from "../setting/tool-loop-agent.js";
import { quantile } from "./statistics.js";

const at = (threadId: string, ns?: string) => ({
  configurable: { thread_id: threadId, ...(ns !== undefined && { checkpoint_ns: ns }) },
});

/** What a call takes, in milliseconds: medians, but for the fastest. */
export interface CallTime {
  readonly name: string;
  readonly passed: number;
  /** The call that other programs on the machine held up least. */
  readonly fastest: number;
  /** Processor time of this process: what other programs do on the machine does not count. */
  readonly busy: number;
}

/** Times of so many calls, after two that are not counted. */
async function timesOf(name: string, work: () => Promise<unknown>, count = 40): Promise<CallTime> {
  const [passed, busy]: [number[], number[]] = [[], []];
  for (let run = 0; run < count + 2; run += 1) {
    const [begin, before] = [performance.now(), process.cpuUsage()];
    await work();
    const { user, system } = process.cpuUsage(before);
    passed.push(performance.now() - begin);
    busy.push((user + system) / 1_000);
  }
  const medianOf = (times: readonly number[]) => quantile(times.slice(2), 0.5);
  return { name, passed: medianOf(passed), fastest: Math.min(...passed.slice(2)), busy: medianOf(busy) };
}

/** Stores one more checkpoint of a thread with each call; all of them show the same messages. */
function puttingTo(saver: BaseCheckpointSaver, threadId: string, count: number): () => Promise<void> {
  const messages = earlierMessages(count);
  let [config, step]: [object, number] = [at(threadId), 0];
  return async () => {
    const values = { messages: [...messages], step };
    const versions = { messages: 1, step };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values: values, channel_versions: versions };
    const metadata = { source: "loop", step, parents: {} } as const;
    config = await saver.put(config, checkpoint, metadata, step === 0 ? versions : { step });
    step += 1;
  };
}

/** Times of calls on a thread of 1,100 messages, and on threads of 10 to 10,000 checkpoints of 100 messages. */
export async function readsOf(saver: BaseCheckpointSaver, counts: readonly number[]) {
  const callsOf = async (threadId: string, { messages, checkpoints }: { messages: number; checkpoints: number }) => {
    const put = puttingTo(saver, threadId, messages);
    for (let step = 0; step < checkpoints; step += 1) {
      await put();
    }
    const get = await timesOf("getTuple", () => saver.getTuple(at(threadId)));
    const list = await timesOf("list", () => listed(saver, threadId, 10));
    return { checkpoints, get, list, put: await timesOf("put", put) };
  };
  const long = await callsOf("long", { messages: 1_100, checkpoints: 3 });
  const scale: (typeof long)[] = [];
  for (const checkpoints of counts) {
    scale.push(await callsOf(`of-${checkpoints}`, { messages: 100, checkpoints }));
  }
  return { long, scale };
}

async function listed(saver: BaseCheckpointSaver, threadId: string, limit: number): Promise<number> {
  let count = 0;
  for await (const { config } of saver.list(at(threadId, ""), { limit })) {
    count += config === undefined ? 0 : 1;
  }
  return count;
}

/** Times of an agent of 20 steps, whose model takes 2 ms a call. */
export async function timesOfAgent(name: string, checkpointer: BaseCheckpointSaver | undefined): Promise<CallTime> {
  let run = 0;
  const agent = toolLoopAgent({ calls: 10, delayMs: 2, ...(checkpointer && { checkpointer }) });
  const invoke = () => {
    run += 1;
    return agent.invoke({ messages: earlierMessages(100) }, { ...at(`agent-${run}`), recursionLimit: 60 });
  };
  return timesOf(name, invoke, 9);
}
