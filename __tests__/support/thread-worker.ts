/**
 * A process that runs turns on many LangGraph threads at the same time, for tests. It first finishes the turn that an
 * earlier process left, and says the thread and number of each turn that has ended, one a line.
 */
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { randomUUID } from "node:crypto";

const [url, keyPrefix, threads, durability] = process.argv.slice(2) as [string, string, string, "sync" | "async"];
// Many threads share a core here: how long a call takes says nothing.
const commandTimeout = 120_000;
const checkpointer = RedisSaver.fromUrl(url, { keyPrefix, keep: 20, commandTimeout });
const say = (text: string) => ({
  messages: [new AIMessage({ content: `${text} ${"and so on ".repeat(20)}`, id: randomUUID() })],
});
const graph = new StateGraph(MessagesAnnotation)
  .addNode("plan", () => say("plan"))
  .addNode("search", () => say("search"))
  .addNode("answer", () => say("answer"))
  .addEdge(START, "plan")
  .addConditionalEdges("plan", (state) => [new Send("search", state), new Send("search", state)])
  .addEdge("search", "answer")
  .addEdge("answer", END)
  .compile({ checkpointer });

const lane = async (thread: string): Promise<void> => {
  const config = { configurable: { thread_id: thread }, durability };
  if ((await graph.getState(config)).tasks.length > 0) {
    await graph.invoke(null, config);
  }
  for (;;) {
    const { values } = await graph.getState(config);
    const turn = (values.messages ?? []).filter((message: { id?: string }) => message.id?.startsWith("q")).length;
    await graph.invoke({ messages: [new HumanMessage({ content: `question ${turn}`, id: `q${turn}` })] }, config);
    process.stdout.write(`${thread} ${turn}\n`);
  }
};
await Promise.all(Array.from({ length: Number(threads) }, (_, index) => lane(`thread-${index}`)));
