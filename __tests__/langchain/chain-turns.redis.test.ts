import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { JsonOutputParser, StringOutputParser } from "@langchain/core/output_parsers";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatHistoryTruncationReducer, type RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { ConversationSession } from "../../src/memory/session/conversation-session.js";
import { events, newMemory, texts } from "../support/memories.js";
import { ai, aiCalls, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { all } from "../support/all.js";

/** Answers `a1`, `a2`, … whatever it is asked. */
function countingModel(): ScriptedModel {
  let count = 0;
  return new ScriptedModel(() => `a${(count += 1)}`);
}
const transcript = async (memory: RedisChatMemory) => texts(await memory.history("ann").getTranscript());
const session = { configurable: { sessionId: "ann" } };
const turn = (turnId: string) => ({ configurable: { sessionId: "ann", turnId } });
const repeated = () => events.filter(({ type }) => type === "turn_repeated").length;

async function collect<T>(stream: Promise<AsyncIterable<T>>): Promise<T[]> {
  const chunks: T[] = await all(await stream);
  return chunks;
}

describe("a chain's turn that comes again", () => {
  it("is asked again where it was removed while the retry looked for it outside the view", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const memory = newMemory({ reducer });
    const model = new ScriptedModel((messages) => `answer to ${messages.at(-1)!.text}`);
    const chain = withRedisMemory(model, { memory });
    await chain.invoke(human("q", "q1"), session);
    await memory.history("ann").addMessages([human("later"), ai("said later")]);
    const readEntries = jest.spyOn(ConversationSession.prototype, "readEntries");
    readEntries.mockImplementationOnce(async function (this: ConversationSession, page) {
      const history = memory.history("ann");
      await history.rewind("q1");
      await history.addMessages([human("other"), ai("said otherwise")]);
      return this.readEntries(page);
    });
    const again = await chain.invoke(human("q", "q1"), session);
    readEntries.mockRestore();
    expect(again.text).toBe("answer to q");
    expect(await transcript(memory)).toEqual(["other", "said otherwise", "q", "answer to q"]);
  });

  it("is streamed as one chunk", async () => {
    const memory = newMemory();
    const model = new ScriptedModel(() => "one two three");
    const chain = withRedisMemory(model.pipe(new StringOutputParser()), { memory });
    expect(await collect(chain.stream("q", turn("t")))).toEqual(["one ", "two ", "three"]);
    expect(await collect(chain.stream("q", turn("t")))).toEqual(["one two three"]);
    expect(model.sent).toHaveLength(1);
  });

  it("ends a stream that has begun with its own tokens where another run has stored the turn", async () => {
    const memory = newMemory();
    const chain = withRedisMemory(countingModel(), { memory, oneTurnAtATime: false });
    const stream = await chain.stream("q", turn("t"));
    const other = await chain.invoke("q", turn("t"));
    const chunks: string[] = [];
    for await (const chunk of stream) {
      chunks.push(chunk.text);
    }
    expect([chunks.join(""), other.text]).toEqual(["a1", "a2"]);
    expect(await transcript(memory)).toHaveLength(2);
    expect(repeated()).toBe(1);
  });

  it.each<[string, RunnableLambda<BaseMessage[], unknown>, unknown]>([
    ["messages", RunnableLambda.from(() => [ai("a")]), [expect.objectContaining({ content: "a" })]],
    ["text", RunnableLambda.from(() => "a"), "a"],
    ["an object with one key", RunnableLambda.from(() => ({ output: "a" })), { output: "a" }],
  ])("gives %s in the same form", async (_, runnable, expected) => {
    const memory = newMemory();
    const chain = withRedisMemory(runnable, { memory });
    await chain.invoke("q", turn("t"));
    expect(await chain.invoke("q", turn("t"))).toEqual(expected);
  });

  it("gives an agent's whole list again, and not its end only", async () => {
    const memory = newMemory();
    let calls = 0;
    const agentLike = RunnableLambda.from(({ messages }: { messages: BaseMessage[] }) => ({
      messages: [...messages, ai(`a${(calls += 1)}`)],
    }));
    const chain = withRedisMemory(agentLike, { memory, inputMessagesKey: "messages" });
    await chain.invoke({ messages: "q1" }, turn("t1"));
    const first = await chain.invoke({ messages: "q2" }, turn("t2"));
    const again = await chain.invoke({ messages: "q2" }, turn("t2"));
    expect([texts(again.messages), calls]).toEqual([texts(first.messages), 2]);
  });

  it("runs again where its output has further keys, on what came before it, and stores nothing", async () => {
    const memory = newMemory();
    const seen: string[][] = [];
    const runnable = RunnableLambda.from((messages: BaseMessage[]) => {
      seen.push(texts(messages));
      return { output: "a", sources: seen.length };
    });
    const chain = withRedisMemory(runnable, { memory });
    await chain.invoke("q", turn("t"));
    expect(await chain.invoke("q", turn("t"))).toEqual({ output: "a", sources: 2 });
    expect(seen).toEqual([["q"], ["q"]]);
    expect(await transcript(memory)).toEqual(["q", "a"]);
  });
});

describe("structured output", () => {
  it("is stored as its JSON, by invoke and by stream", async () => {
    const memory = newMemory();
    const model = new ScriptedModel(() => '{"name": "Ann Lee", "age": 3}');
    const chain = withRedisMemory(model.pipe(new JsonOutputParser<{ name: string; age: number }>()), { memory });
    expect(await chain.invoke("q", session)).toEqual({ name: "Ann Lee", age: 3 });
    await collect(chain.stream("q", session));
    const json = '{"name":"Ann Lee","age":3}';
    expect(await transcript(memory)).toEqual(["q", json, "q", json]);
  });

  it("with its raw message is stored as that", async () => {
    const memory = newMemory();
    const runnable = RunnableLambda.from(() => ({ raw: new AIMessage("raw"), parsed: { answer: "parsed" } }));
    await withRedisMemory(runnable, { memory }).invoke("q", session);
    expect(await transcript(memory)).toEqual(["q", "raw"]);
  });

  it("with its raw message stores the call as text, so that no later request needs a result of it", async () => {
    const memory = newMemory();
    const extract = { type: "object", title: "person", properties: { name: { type: "string" } } };
    const model = new ScriptedModel(() => aiCalls("c1"));
    Object.assign(model, { bindTools: () => model });
    const chain = withRedisMemory(model.withStructuredOutput(extract, { includeRaw: true, name: "lookup" }), {
      memory,
    });
    expect(Object.keys(await chain.invoke("q", session))).toEqual(["raw", "parsed"]);
    await chain.invoke("q", session);
    const [, answer] = await memory.history("ann").getTranscript();
    expect(await transcript(memory)).toEqual(["q", '{"query":"c1"}', "q", '{"query":"c1"}']);
    expect([(answer as AIMessage).tool_calls, answer!.id]).toEqual([[], expect.any(String)]);
    expect(model.sent.flat().filter((message) => message.getType() === "tool")).toEqual([]);
  });

  it("keeps what could not be parsed as the text that the model wrote", async () => {
    const memory = newMemory();
    const invalid = [{ id: "c1", name: "person", args: '{"name": "An', type: "invalid_tool_call" as const }];
    const raw = new AIMessage({ content: "Here it is:", invalid_tool_calls: invalid });
    await withRedisMemory(() => ({ raw, parsed: null }), { memory }).invoke("q", session);
    expect(await transcript(memory)).toEqual(["q", 'Here it is:\n\n{"name": "An']);
  });

  it("takes an only key for the answer where it holds one, and not any text", async () => {
    const memory = newMemory();
    for (const output of [{ title: "x" }, { reply: ai("y") }, { output: "z" }]) {
      await withRedisMemory(() => output, { memory }).invoke("q", session);
    }
    expect(await transcript(memory)).toEqual(["q", '{"title":"x"}', "q", "y", "q", "z"]);
  });
});
