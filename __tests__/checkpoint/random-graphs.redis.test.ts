import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  END,
  Send,
  START,
  StateGraph,
  interrupt,
  messagesStateReducer,
} from "@langchain/langgraph";
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { RedisSaver } from "../../src/checkpoint/redis-saver.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all, ComparedSaver } from "./compared-saver.js";

const State = Annotation.Root({
  messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
  notes: Annotation<unknown[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  last: Annotation<unknown>,
});

type Graph = ReturnType<typeof compiled>;

/** A node's work, in order. */
const nodeSteps = fc.array(
  fc.constantFrom("say", "replace", "remove", "note", "set", "nothing", "ask", "fail once", "two writes"),
  { minLength: 1, maxLength: 3 },
);

/** The ways on from a node: to the next one, to the end, to tasks that run at once, or back while the count allows. */
const nodeExit = fc.constantFrom("next", "next", "end", "fan out", "back");

const graphs = fc.array(fc.record({ steps: nodeSteps, exit: nodeExit }), { minLength: 1, maxLength: 4 });

const actions = fc.array(
  fc.record({
    kind: fc.constantFrom("ask", "ask", "resume", "resume", "go on", "update", "replay", "fork", "copy", "look"),
    /** Chooses a checkpoint of the history. */
    place: fc.nat(30),
    long: fc.boolean(),
  }),
  { minLength: 2, maxLength: 8 },
);

const durabilities = fc.constantFrom("sync" as const, "async" as const, "exit" as const);

const text = (seed: string, long: boolean) => (long ? `${seed} ${"and so on ".repeat(40)}` : seed);

/** A graph as it was drawn. Nodes that fail do so at their first run only. */
function compiled(drawn: readonly { steps: string[]; exit: string }[], checkpointer: ComparedSaver) {
  let runs = 0;
  const failed = new Set<number>();
  const work = (index: number, steps: readonly string[], { messages }: typeof State.State) => {
    const update: { messages: BaseMessage[]; notes: unknown[]; last?: unknown } = { messages: [], notes: [] };
    for (const step of steps) {
      const seed = text(`n${index} run ${(runs += 1)}`, runs % 2 === 0);
      const chosen = messages[runs % Math.max(1, messages.length)];
      if (step === "say" || step === "two writes") {
        update.messages.push(new AIMessage({ content: seed, id: randomUUID() }));
      } else if (step === "replace" && chosen?.id !== undefined) {
        update.messages.push(new HumanMessage({ content: `${seed} changed`, id: chosen.id }));
      } else if (step === "remove" && chosen?.id !== undefined && update.messages.every(({ id }) => id !== chosen.id)) {
        update.messages.push(new RemoveMessage({ id: chosen.id }));
      } else if (step === "note") {
        update.notes.push({ seed, nested: { list: [seed, text("part", true), text("part", true)] } });
      } else if (step === "set") {
        update.last = [seed, null, { seed }];
      } else if (step === "ask") {
        update.notes.push(interrupt({ question: seed }));
      } else if (step === "fail once" && !failed.has(index)) {
        failed.add(index);
        throw new Error("failed once");
      }
      if (step === "two writes") {
        update.notes.push(seed);
      }
    }
    return update;
  };
  const names = drawn.map((_, index) => `n${index}`);
  const builder = new StateGraph(State) as unknown as {
    addNode(name: string, run: (state: typeof State.State) => unknown): void;
    addConditionalEdges(from: string, way: (state: typeof State.State) => unknown): void;
    addEdge(from: string, to: string): void;
    compile(options: { checkpointer: ComparedSaver }): ReturnType<StateGraph<typeof State.spec>["compile"]>;
  };
  drawn.forEach(({ steps }, index) => builder.addNode(names[index]!, (state) => work(index, steps, state)));
  builder.addNode("task", ({ notes }) => ({ notes: [{ task: notes[0] }] }));
  builder.addEdge("task", END);
  builder.addEdge(START, names[0]!);
  drawn.forEach(({ exit }, index) => {
    builder.addConditionalEdges(names[index]!, ({ notes, messages }) => {
      const next = names[index + 1] ?? END;
      if (exit === "fan out") {
        return [1, 2, 3].map((part) => new Send("task", { notes: [part, ...notes.slice(0, 5)], messages }));
      }
      return exit === "end" ? END : exit === "back" && runs % 3 === 0 ? names[0]! : next;
    });
  });
  return builder.compile({ checkpointer });
}

async function play(graph: Graph, thread: { configurable: { thread_id: string } }, drawn: readonly Action[]) {
  let asked = 0;
  for (const { kind, place, long } of drawn) {
    const history = await all(graph.getStateHistory(thread, { limit: 40 }));
    const chosen = history[place % Math.max(1, history.length)];
    const at = chosen === undefined ? thread : { ...thread, configurable: chosen.config.configurable! };
    const question = () => new HumanMessage({ content: text(`question ${(asked += 1)}`, long), id: `q${asked}` });
    // Nodes fail, and a graph has a limit of steps: what is stored then is compared, too.
    const run = (input: unknown, config: object) => graph.invoke(input as never, config).catch(() => undefined);
    switch (kind) {
      case "ask":
        await run({ messages: [question()] }, thread);
        break;
      case "resume":
        await run(new Command({ resume: text("yes", long) }), thread);
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
        await graph.updateState(at, { notes: [text("forked", long)] }).catch(() => undefined);
        break;
      case "copy":
        await graph.updateState(at, null, "__copy__").catch(() => undefined);
        break;
      default:
        await graph.getState(at, { subgraphs: true });
    }
  }
}

type Action = { kind: string; place: number; long: boolean };

describe("Any graph on RedisSaver", () => {
  const saver = RedisSaver.fromUrl(sharedRedisUrl(), { keyPrefix: uniquePrefix() });
  afterAll(() => saver.close());

  it("has the states, histories and interrupts that it has on MemorySaver", async () => {
    let compared = 0;
    let interrupted = 0;
    const property = fc.asyncProperty(graphs, actions, durabilities, async (drawn, moves, durability) => {
      const checkpointer = new ComparedSaver(saver);
      const threadId = randomUUID();
      const thread = { configurable: { thread_id: threadId }, durability, recursionLimit: 12 };
      const graph = compiled(drawn, checkpointer);
      await play(graph, thread, moves);
      const { tasks } = await graph.getState(thread);
      interrupted += tasks.filter(({ interrupts }) => interrupts.length > 0).length;
      compared += await checkpointer.compareAll(threadId);
    });
    // The first one is no draw: a run that is interrupted.
    const asking = [[{ steps: ["ask"], exit: "next" }], [{ kind: "ask", place: 0, long: false }], "sync"] as const;
    await fc.assert(property, { numRuns: propertyRuns(30), examples: [asking as never] });
    expect(Math.min(compared, interrupted)).toBeGreaterThan(0);
  });
});
