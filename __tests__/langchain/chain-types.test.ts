import { type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda } from "@langchain/core/runnables";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { echoModel } from "../support/scripted-model.js";

const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
const session = { configurable: { sessionId: "ann" } };
const history = new MessagesPlaceholder("history");

describe("the types of withRedisMemory", () => {
  it("take the chain's own input less the history key", async () => {
    const prompt = ChatPromptTemplate.fromMessages<{ input: string; language: string; history: BaseMessage[] }>([
      history,
      ["human", "{input} in {language}"],
    ]);
    const keys = { inputMessagesKey: "input", historyMessagesKey: "history" } as const;
    const chain = withRedisMemory(prompt.pipe(echoModel()), { memory, ...keys });
    expect((await chain.invoke({ input: "Hi", language: "en" }, session)).text).toBe("reply to Hi in en");
    // @ts-expect-error a misspelt key
    await expect(chain.invoke({ inptu: "Hi", language: "en" }, session)).rejects.toThrow("inputMessagesKey");
    // @ts-expect-error a missing key
    await expect(chain.invoke({ input: "Hi" }, session)).rejects.toThrow();
  });

  it("want the input key also of a chain that does not say what it takes", async () => {
    const prompt = ChatPromptTemplate.fromMessages([history, ["human", "{input}"]]);
    const chain = withRedisMemory(prompt.pipe(echoModel()), {
      memory,
      inputMessagesKey: "input",
      historyMessagesKey: "history",
    });
    await chain.invoke({ input: "Hi" }, session);
    await chain.invoke("Hi", session);
    // @ts-expect-error a misspelt key
    await expect(chain.invoke({ inptu: "Hi" }, session)).rejects.toThrow("inputMessagesKey");
  });

  it("take text, a message or messages for a model, and under a key of a chain that wants a list", async () => {
    const model = withRedisMemory(echoModel(), { memory });
    const answers: AIMessage[] = [await model.invoke("Hi", session), await model.invoke([["human", "Hi"]], session)];
    expect(answers).toHaveLength(2);
    const agentLike = RunnableLambda.from(({ messages }: { messages: BaseMessage[] }) => ({ messages }));
    const chain = withRedisMemory(agentLike, { memory, inputMessagesKey: "messages" });
    await chain.invoke({ messages: "Hi" }, session);
    // @ts-expect-error a misspelt key
    await expect(chain.invoke({ mesages: "Hi" }, session)).rejects.toThrow("inputMessagesKey");
  });

  it.each(["an agent", "a graph"])("take %s without the key of its messages", async (kind) => {
    const model = Object.assign(echoModel(), { bindTools: (): unknown => model }) as ReturnType<typeof echoModel>;
    const say = async ({ messages }: { messages: BaseMessage[] }) => ({ messages: [await model.invoke(messages)] });
    const graph = new StateGraph(MessagesAnnotation).addNode("say", say).addEdge("__start__", "say").compile();
    const chain = withRedisMemory((kind === "an agent" ? createAgent({ model, tools: [] }) : graph) as never, {
      memory,
    });
    for (const [index, input] of ["one", [new HumanMessage("two")], { messages: "three" }].entries()) {
      const config = { configurable: { sessionId: `keyless-${kind}`, turnId: `t${index}` } };
      const { messages } = (await chain.invoke(input as never, config)) as { messages: BaseMessage[] };
      expect(messages.at(-1)!.text).toContain(["one", "two", "three"][index]);
    }
    expect(await memory.history(`keyless-${kind}`).getTranscript()).toHaveLength(6);
  });
});
