import { Annotation, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import type { InspectedPlace } from "./inspectors.js";

const State = Annotation.Root({
  notes: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  count: Annotation<number>,
});

/** Runs a graph up to an interrupt: its input, a step that writes a note and a number, and a question. */
export async function askingThread({ client, keyPrefix }: InspectedPlace, threadId: string): Promise<void> {
  const checkpointer = new RedisSaver({ client, keyPrefix });
  const graph = new StateGraph(State)
    .addNode("write", () => ({ notes: ["<b>a note</b>"], count: 7 }))
    .addNode("ask", () => ({ notes: [interrupt({ question: "Really?" })] }))
    .addEdge(START, "write")
    .addEdge("write", "ask")
    .addEdge("ask", END)
    .compile({ checkpointer });
  await graph.invoke({ notes: ["first"] }, { configurable: { thread_id: threadId } });
}
