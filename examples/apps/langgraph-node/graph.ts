import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Annotation, END, interrupt, START, StateGraph } from "@langchain/langgraph";
import { type RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { RedisSaver } from "langchain-redis-memory/checkpoint";

const State = Annotation.Root({
  question: Annotation<string>,
  draft: Annotation<string>,
  answer: Annotation<string>,
});

/**
 * A librarian whose answer a person approves. The conversation is in the memory, which the node reads and writes by the
 * session that its config names; the state of the graph has only what waits for the approval. Both are on one
 * connection, and any instance can go on.
 */
export function createGraph(memory: RedisChatMemory, model: BaseChatModel) {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", "You are a librarian."],
    new MessagesPlaceholder("history"),
    ["human", "{input}"],
  ]);
  const chat = withRedisMemory(prompt.pipe(model), {
    memory,
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  });
  return new StateGraph(State)
    .addNode("librarian", async ({ question }, config: RunnableConfig) => {
      return { draft: (await chat.invoke({ input: question }, config)).text };
    })
    .addNode("approval", ({ draft }) => {
      const isApproved: unknown = interrupt({ draft });
      return { answer: isApproved === true ? draft : "Please ask at the desk." };
    })
    .addEdge(START, "librarian")
    .addEdge("librarian", "approval")
    .addEdge("approval", END)
    .compile({ checkpointer: new RedisSaver({ memory, keep: 2 }) });
}
