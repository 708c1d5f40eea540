// A node of a LangGraph graph that remembers: the config that the node gets names the session.
import { randomUUID } from "node:crypto";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, END, START, StateGraph } from "@langchain/langgraph";
import { RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { chatModel, connection } from "./support/setting.js";

const memory = new RedisChatMemory(connection());
const prompt = ChatPromptTemplate.fromMessages([
  ["system", "You are a librarian."],
  new MessagesPlaceholder("history"),
  ["human", "{input}"],
]);
const chat = withRedisMemory(prompt.pipe(chatModel(["Try 'Dubliners'.", "James Joyce."])), {
  memory,
  inputMessagesKey: "input",
  historyMessagesKey: "history",
});

const State = Annotation.Root({ question: Annotation<string>, answer: Annotation<string> });
const graph = new StateGraph(State)
  .addNode("librarian", async ({ question }, config: RunnableConfig) => {
    return { answer: (await chat.invoke({ input: question }, config)).text };
  })
  .addEdge(START, "librarian")
  .addEdge("librarian", END)
  .compile();

const session = { configurable: { sessionId: `reader-${randomUUID()}` } };
for (const question of ["A book about Dublin?", "Who wrote it?"]) {
  const { answer } = await graph.invoke({ question }, session);
  console.log(`${question} ${answer}`);
}
const history = memory.history(session.configurable.sessionId);
console.log(`stored: ${(await history.getTranscript()).length} messages; the graph's state holds none of them`);
await history.clear();
await memory.close();
