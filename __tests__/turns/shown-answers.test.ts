import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { showAnswer, type ShownAnswer } from "../../src/memory/turns/show-answer.js";
import { ai, human, tool } from "../support/messages.js";

/** Hears tokens, as a stream of events does. */
class Listener extends BaseCallbackHandler {
  readonly name = "listener";
  readonly lc_prefer_streaming = true;
  override awaitHandlers = true;
  readonly chunks: ChatGenerationChunk[] = [];

  override handleLLMNewToken(...given: Parameters<NonNullable<BaseCallbackHandler["handleLLMNewToken"]>>): void {
    this.chunks.push(given[5]!.chunk as ChatGenerationChunk);
  }
}

describe("a stored answer in a stream", () => {
  it.each([
    [
      { id: "a", name: "clerk" },
      { id: "a", name: "clerk" },
    ],
    [{}, { id: undefined, name: undefined }],
  ])("has its id and name: %j", async (fields, shown) => {
    const listener = new Listener();
    await showAnswer({ messages: [new AIMessage({ content: "noon", ...fields })] }, { callbacks: [listener] });
    expect(listener.chunks.map(({ message: { text, id, name } }) => ({ text, id, name }))).toEqual([
      { text: "noon", ...shown },
    ]);
    expect("name" in listener.chunks[0]!.message.toDict().data).toBe("name" in fields);
  });

  const shownOf = async (shown: ShownAnswer) => {
    const listener = new Listener();
    await showAnswer(shown, { callbacks: [listener] });
    return listener.chunks.map(({ message: { text } }) => text);
  };
  const steps = [human("q"), ai("I look.", { calls: ["c"] }), tool("c"), ai("noon")];

  it.each<[string, ShownAnswer, readonly string[]]>([
    ["the last words", { messages: steps }, ["noon"]],
    ["the call of a structured response", { messages: steps, isStructured: true }, ["I look."]],
    ["a structured response without a call", { messages: steps.slice(-1), isStructured: true }, ["noon"]],
    ["nothing without an answer", { messages: [human("q")] }, []],
  ])("is %s", async (_, given, words) => {
    expect(await shownOf(given)).toEqual(words);
  });
});
