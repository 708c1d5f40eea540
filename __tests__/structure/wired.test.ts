import { AIMessageChunk, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import type { MemoryEvent } from "../../src/entries/index.js";
import { toModel, wired } from "../../src/entries/structure.js";

const content = [
  { type: "thinking", thinking: "hm", signature: "EqQB" },
  { type: "text", text: "Hello" },
];

/** A model of a name that binds its thoughts, which notes what it is sent. */
class NotingModel extends ChatAnthropic {
  readonly sent: BaseMessage[][] = [];

  static override lc_name(): string {
    return "ChatAnthropic";
  }

  override async invoke(messages: never): Promise<AIMessageChunk> {
    this.sent.push([...(messages as BaseMessage[])]);
    return new AIMessageChunk({ id: "m", content, response_metadata: { model_provider: "anthropic" } });
  }

  override async stream(messages: never): Promise<never> {
    this.sent.push([...(messages as BaseMessage[])]);
    const pieces = content.map(
      (block, index) =>
        new AIMessageChunk({
          id: "m",
          content: [{ ...block, index }],
          ...(index === 0 && { response_metadata: { model_provider: "anthropic" } }),
        }),
    );
    return (async function* () {
      yield* pieces;
    })() as never;
  }
}

const question = new HumanMessage("Hi");
const prompt = ChatPromptTemplate.fromMessages([["placeholder", "{messages}"]]);

describe("a wired model", () => {
  it("stamps its answers, so that it takes their thoughts again, and only behind the same prefix", async () => {
    const model = new NotingModel({ model: "claude-opus-5-5", apiKey: "none" });
    const chain = prompt.pipe(wired(model));
    const answer = (await chain.invoke({ messages: [question] })) as BaseMessage;
    await chain.invoke({ messages: [question, answer, new HumanMessage("Bye")] });
    expect(model.sent[1]![1]!.content).toEqual(content);
    const changed = await toModel([new HumanMessage("Hey"), answer, new HumanMessage("Bye")], { model });
    expect(changed.thinkingDropped).toBe(1);
  });

  it("stamps a streamed answer by its last piece", async () => {
    const model = new NotingModel({ model: "claude-opus-5-5", apiKey: "none" });
    let whole: AIMessageChunk | undefined;
    for await (const chunk of await prompt.pipe(wired(model)).stream({ messages: [question] })) {
      const piece = chunk as AIMessageChunk;
      whole = whole === undefined ? piece : whole.concat(piece);
    }
    expect(whole!.content).toHaveLength(2);
    const next = await toModel([question, whole!, new HumanMessage("Bye")], { model });
    expect(next.thinkingDropped).toBe(0);
    expect(next.messages[1]!.content).toEqual(whole!.content);
  });

  it("reports the thoughts that it leaves out, once per change, for the session of the run", async () => {
    const model = new NotingModel({ model: "claude-opus-5-5", apiKey: "none" });
    const events: MemoryEvent[] = [];
    const chain = wired(model, { onEvent: (event) => void events.push(event) });
    const answer = await chain.invoke([question]);
    const config = { configurable: { sessionId: "ann" } };
    await chain.invoke([question, answer, new HumanMessage("Bye")], config);
    expect(events).toEqual([]);
    const changed = [new HumanMessage("Hey"), answer, new HumanMessage("Bye")];
    await chain.invoke(changed, config);
    await chain.invoke(changed, config);
    expect(events).toEqual([
      { type: "thinking_dropped", sessionId: "ann", cause: "messages", firstAt: 1, sent: 0, dropped: 1 },
    ]);
  });
});
