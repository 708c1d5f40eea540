import type { PrivateRedis } from "../../testkit/servers/redis-server.js";
import type { SaverContender } from "../setting/savers.js";
import { earlierMessages, toolLoopAgent } from "../setting/tool-loop-agent.js";
import { ServerMeter } from "./server-cost.js";

/** How a thread grew in a tool loop. */
export interface Growth {
  readonly name: string;
  /** Bytes that are stored after a step. */
  readonly points: readonly (readonly [step: number, bytes: number])[];
  /** Commands, statements or calls a step; undefined where none are sent. */
  readonly commandsAStep: number | undefined;
  /** Microseconds of the server's processor a step, readings of the sizes included; undefined without a server. */
  readonly cpuAStep: number | undefined;
}

/** Runs a tool loop of so many steps on a thread of 100 messages, each checkpoint before the next step. */
export async function growthOf(
  contender: SaverContender,
  { steps, server }: { readonly steps: number; readonly server: PrivateRedis },
): Promise<Growth> {
  const { saver, name } = contender;
  const points: (readonly [number, number])[] = [];
  const put = saver.put.bind(saver);
  saver.put = async (...call) => {
    const stored = await put(...call);
    const { step } = call[2];
    if (step > 0 && step % Math.ceil(steps / 20) === 0) {
      points.push([step, await contender.bytes()]);
    }
    return stored;
  };
  const agent = toolLoopAgent({ calls: steps / 2, checkpointer: saver });
  const config = { configurable: { thread_id: "growth" }, recursionLimit: 3 * steps, durability: "sync" as const };
  const meter = new ServerMeter([Number(new URL(server.url).port)]);
  const [cost] = await meter.costsOf(() => agent.invoke({ messages: earlierMessages(100) }, config));
  meter.close();
  const commands = contender.commands();
  return {
    name,
    points,
    commandsAStep: commands === undefined ? undefined : commands / steps,
    cpuAStep: contender.hasServer ? cost!.cpu / steps : undefined,
  };
}

/** Bytes that a step adds, between two parts of the loop. */
export function bytesAStep({ points }: Growth, from: number, to: number): number {
  const at = (share: number) => points[Math.max(0, Math.round(share * points.length) - 1)]!;
  const [[firstStep, first], [lastStep, last]] = [at(from), at(to)];
  return (last - first) / (lastStep - firstStep);
}
