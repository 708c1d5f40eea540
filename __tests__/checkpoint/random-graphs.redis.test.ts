import { HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { ComparedSaver } from "./compared-saver.js";
import { all } from "../support/all.js";
import { graphs, RunningGraph, textOf, type DrawnGraph } from "./drawn-graphs.js";

const kinds = ["ask", "ask", "resume", "resume", "go on", "stop", "update", "replay", "fork", "copy", "look"] as const;

interface Action {
  readonly kind: (typeof kinds)[number];
  /** Chooses a checkpoint of the history, or the node at which a run is stopped. */
  readonly place: number;
  readonly long: boolean;
}

const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...kinds), place: fc.nat(30), long: fc.boolean() }),
  { minLength: 2, maxLength: 8 },
);

/** A run with everything: a subgraph, an interrupt in one with a thread of its own, tasks at once, and a Stop. */
const everything: readonly [DrawnGraph, readonly Action[]] = [
  {
    nodes: [
      { steps: ["say", "tell"], exit: "next", kind: "subgraph" },
      { steps: ["ask", "tell"], exit: "fan out", kind: "subgraph with a thread" },
    ],
    tasks: "subgraphs",
  },
  (["ask", "resume", "stop", "go on", "stop", "look"] as const).map((kind, place) => ({ kind, place, long: true })),
];

/** Returns how many interrupts it met, and how many runs it stopped. */
async function play(running: RunningGraph, thread: Thread, drawn: readonly Action[]) {
  const { graph } = running;
  let [asked, interrupted, stopped] = [0, 0, 0];
  for (const { kind, place, long } of drawn) {
    const history = await all(graph.getStateHistory(thread, { limit: 40 }));
    const chosen = history[place % Math.max(1, history.length)];
    const at = chosen === undefined ? thread : { ...thread, configurable: chosen.config.configurable! };
    const question = () => new HumanMessage({ content: textOf(`question ${(asked += 1)}`, long), id: `q${asked}` });
    // Nodes fail, and a graph has a limit of steps: what is stored then is compared, too.
    const run = (input: unknown, config: object) => graph.invoke(input as never, config).catch(() => undefined);
    switch (kind) {
      case "ask":
        await run({ messages: [question()] }, thread);
        break;
      case "stop": {
        const signal = running.stopAfter(1 + (place % 4));
        await run({ messages: [question()] }, { ...thread, signal });
        await running.settled();
        stopped += signal.aborted ? 1 : 0;
        break;
      }
      case "resume":
        await run(new Command({ resume: textOf("yes", long) }), thread);
        break;
      case "go on":
        await run(null, thread);
        break;
      case "update":
        await graph.updateState(thread, { messages: [question()] }).catch(() => undefined);
        break;
      case "replay":
        await run(null, at);
        break;
      case "fork":
        await graph.updateState(at, { notes: [textOf("forked", long)] }).catch(() => undefined);
        break;
      case "copy":
        await graph.updateState(at, null, "__copy__").catch(() => undefined);
        break;
      default:
        await graph.getState(at, { subgraphs: true });
    }
    const { tasks } = await graph.getState(thread);
    interrupted += tasks.filter(({ interrupts }) => interrupts.length > 0).length;
  }
  return { interrupted, stopped };
}

type Thread = { readonly configurable: { readonly thread_id: string } };

describe("Any graph on RedisSaver", () => {
  const saver = RedisSaver.fromUrl(sharedRedisUrl(), { keyPrefix: uniquePrefix() });
  afterAll(() => saver.close());

  it.each(["sync", "async", "exit"] as const)(
    "has the states, histories and interrupts that it has on MemorySaver (%s)",
    async (durability) => {
      const most = { interrupted: 0, stopped: 0, histories: 0, namespaces: 0 };
      const property = fc.asyncProperty(graphs, actions, async (drawn, moves) => {
        const checkpointer = new ComparedSaver(saver);
        const threadId = randomUUID();
        const thread = { configurable: { thread_id: threadId }, durability, recursionLimit: 12 };
        const played = await play(new RunningGraph(drawn, checkpointer), thread, moves);
        await checkpointer.compareAll(threadId);
        const { histories, namespaces } = checkpointer;
        for (const [name, count] of Object.entries({ ...played, histories, namespaces: namespaces.size })) {
          most[name as keyof typeof most] = Math.max(most[name as keyof typeof most], count);
        }
      });
      await fc.assert(property, { numRuns: propertyRuns(4), examples: [everything as never] });
      expect(Math.min(most.interrupted, most.stopped, most.histories)).toBeGreaterThan(0);
      // The root, both subgraphs, and the tasks; of those, "exit" stores only what waits or has a thread of its own.
      expect(most.namespaces).toBeGreaterThanOrEqual(durability === "exit" ? 2 : 6);
    },
  );
});
