import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  DeltaChannel,
  END,
  Send,
  START,
  StateGraph,
  interrupt,
  messagesDeltaReducer,
  messagesStateReducer,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import fc from "fast-check";
import { randomUUID } from "node:crypto";

const State = Annotation.Root({
  messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
  /** Stored as what was written since the last snapshot. */
  talk: () => new DeltaChannel<BaseMessage[]>(messagesDeltaReducer as never, { snapshotFrequency: 3 }),
  /** The newest of them: a subgraph returns all that it was given, so that its graph's would double with each call. */
  notes: Annotation<unknown[]>({ reducer: (a, b) => [...a, ...b].slice(-16), default: () => [] }),
  last: Annotation<unknown>,
});

type Values = typeof State.State;
type Graph = ReturnType<StateGraph<typeof State.spec>["compile"]>;

/** A node as it is drawn. */
export interface DrawnNode {
  /** Its work, in order. */
  readonly steps: readonly (keyof typeof doing)[];
  /** The ways on: to the next node, to the end, to tasks that run at once, or back while the count allows. */
  readonly exit: "next" | "end" | "fan out" | "back";
  /** What the node is; a subgraph with a thread of its own remembers its state from call to call. */
  readonly kind: "function" | "subgraph" | "subgraph with a thread";
}

/** A graph as it is drawn. */
export interface DrawnGraph {
  readonly nodes: readonly DrawnNode[];
  /** What the tasks are that run at once. */
  readonly tasks: "functions" | "subgraphs";
}

/** A node's changes of the state. */
interface Update {
  messages: BaseMessage[];
  talk: BaseMessage[];
  notes: unknown[];
  last?: unknown;
}

/** The moment of a step. */
interface Moment {
  readonly seed: string;
  /** A message of the state. */
  readonly chosen: BaseMessage | undefined;
  /** True once for each node. */
  readonly isFirst: boolean;
}

const said = (seed: string) => new AIMessage({ content: seed, id: randomUUID() });

/** Text that stays in a record, or becomes an item of its own. */
export const textOf = (seed: string, long: boolean) => (long ? `${seed} ${"and so on ".repeat(40)}` : seed);

const doing = {
  say: (update: Update, { seed }: Moment) => void update.messages.push(said(seed)),
  tell: (update: Update, { seed }: Moment) => void update.talk.push(said(seed)),
  replace: ({ messages }: Update, { seed, chosen }: Moment) => {
    if (chosen?.id !== undefined) {
      messages.push(new HumanMessage({ content: `${seed} changed`, id: chosen.id }));
    }
  },
  remove: ({ messages }: Update, { chosen }: Moment) => {
    if (chosen?.id !== undefined && messages.every(({ id }) => id !== chosen.id)) {
      messages.push(new RemoveMessage({ id: chosen.id }));
    }
  },
  note: ({ notes }: Update, { seed }: Moment) => {
    notes.push({ seed, nested: { list: [seed, textOf("part", true), textOf("part", true)] } });
  },
  set: (update: Update, { seed }: Moment) => void (update.last = [seed, null, { seed }]),
  nothing: () => undefined,
  ask: ({ notes }: Update, { seed }: Moment) => void notes.push(interrupt({ question: seed })),
  "fail once": (_: Update, { isFirst }: Moment) => {
    if (isFirst) {
      throw new Error("failed once");
    }
  },
  "two writes": ({ messages, notes }: Update, { seed }: Moment) => {
    messages.push(said(seed));
    notes.push(seed);
  },
};

const node: fc.Arbitrary<DrawnNode> = fc.record({
  steps: fc.array(fc.constantFrom(...(Object.keys(doing) as (keyof typeof doing)[])), { minLength: 1, maxLength: 3 }),
  exit: fc.constantFrom("next", "next", "end", "fan out", "back"),
  kind: fc.constantFrom("function", "function", "subgraph", "subgraph with a thread"),
});

/** Any graph. */
export const graphs: fc.Arbitrary<DrawnGraph> = fc.record({
  nodes: fc.array(node, { minLength: 1, maxLength: 4 }),
  tasks: fc.constantFrom("functions", "functions", "subgraphs"),
});

/** A drawn graph that runs, and can be stopped. */
export class RunningGraph {
  readonly graph: Graph;
  readonly #failed = new Set<string>();
  readonly #underWay = new Set<Promise<unknown>>();
  #runs = 0;
  #stop: { readonly controller: AbortController; left: number } | undefined;

  constructor({ nodes, tasks }: DrawnGraph, checkpointer: BaseCheckpointSaver) {
    const builder = looseGraph();
    const names = nodes.map((_, index) => `n${index}`);
    nodes.forEach((drawn, index) => builder.addNode(names[index]!, this.#nodeOf(names[index]!, drawn)));
    const task = ({ notes }: Values) => ({ notes: [{ task: notes[0] }] });
    builder.addNode("task", tasks === "functions" ? task : this.#subgraph("task", task, {}));
    builder.addEdge("task", END);
    builder.addEdge(START, names[0]!);
    nodes.forEach(({ exit }, index) => {
      builder.addConditionalEdges(names[index]!, ({ notes, messages }) => {
        const next = names[index + 1] ?? END;
        if (exit === "fan out") {
          return [1, 2, 3].map((part) => new Send("task", { notes: [part, ...notes.slice(0, 5)], messages }));
        }
        return exit === "end" ? END : exit === "back" && this.#runs % 3 === 0 ? names[0]! : next;
      });
    });
    this.graph = builder.compile({ checkpointer });
  }

  /** A signal that is aborted when so many nodes more have begun: while the last of them runs. */
  stopAfter(nodes: number): AbortSignal {
    const controller = new AbortController();
    this.#stop = { controller, left: nodes };
    return controller.signal;
  }

  /** Resolves when the subgraphs have ended that an aborted run left. */
  async settled(): Promise<void> {
    this.#stop = undefined;
    await Promise.allSettled(this.#underWay);
  }

  #nodeOf(name: string, { steps, kind }: DrawnNode) {
    const work = (values: Values) => this.#work(name, steps, values);
    const options = kind === "subgraph" ? {} : { checkpointer: true as const };
    return kind === "function" ? work : this.#subgraph(name, work, options);
  }

  /** Two nodes, so that the thread of the graph within has steps. */
  #subgraph(name: string, work: (values: Values) => unknown, options: { readonly checkpointer?: true }): Graph {
    const builder = looseGraph();
    builder.addNode("work", work);
    builder.addNode("end", (values) => this.#work(`${name} end`, ["note"], values));
    builder.addEdge(START, "work");
    builder.addEdge("work", "end");
    const graph = builder.compile(options);
    const invoke = graph.invoke.bind(graph);
    graph.invoke = ((...call: Parameters<typeof invoke>) => {
      const run = invoke(...call);
      this.#underWay.add(run);
      return run.finally(() => this.#underWay.delete(run));
    }) as typeof graph.invoke;
    return graph;
  }

  async #work(name: string, steps: readonly (keyof typeof doing)[], { messages }: Values): Promise<Update> {
    if (this.#stop !== undefined && (this.#stop.left -= 1) === 0) {
      this.#stop.controller.abort();
    }
    const update: Update = { messages: [], talk: [], notes: [] };
    for (const step of steps) {
      this.#runs += 1;
      const seed = textOf(`${name} run ${this.#runs}`, this.#runs % 2 === 0);
      const isFirst = step === "fail once" && !this.#failed.has(name);
      if (isFirst) {
        this.#failed.add(name);
      }
      doing[step](update, { seed, isFirst, chosen: messages[this.#runs % Math.max(1, messages.length)] });
    }
    // Replies of Redis arrive meanwhile, and the abort.
    await new Promise((resolve) => setImmediate(resolve));
    return update;
  }
}

/** A builder to which nodes are added by names that types do not know. */
interface LooseGraph {
  addNode(name: string, run: ((values: Values) => unknown) | Graph): void;
  addEdge(from: string, to: string): void;
  addConditionalEdges(from: string, way: (values: Values) => unknown): void;
  compile(options: { readonly checkpointer?: BaseCheckpointSaver | true }): Graph;
}

function looseGraph(): LooseGraph {
  return new StateGraph(State) as unknown as LooseGraph;
}
