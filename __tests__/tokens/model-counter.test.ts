import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { ConfigurationError, countMessages, modelCounter } from "../../src/entries/index.js";

/** Counts words, and notes what it was asked. */
class WordModel extends FakeListChatModel {
  readonly modelName = "words-1";
  readonly asked: string[] = [];

  constructor() {
    super({ responses: [] });
  }

  static override lc_name(): string {
    return "WordModel";
  }

  override async getNumTokens(text: unknown): Promise<number> {
    this.asked.push(String(text));
    return String(text).split(/\s+/).length;
  }
}

describe("modelCounter", () => {
  it("asks the model once per message, tool calls included", async () => {
    const model = new WordModel();
    const counter = modelCounter(model);
    const message = new AIMessage({
      content: "one moment",
      tool_calls: [{ id: "c1", name: "find", args: { q: "x" } }],
    });
    expect(await counter.countMessage(message)).toBe(3 + 3 + 6);
    expect(model.asked).toEqual(['assistant\none moment\nc1\nfind\n{"q":"x"}']);
  });

  it("does not ask about nothing", async () => {
    const model = new WordModel();
    expect(await modelCounter(model).countText("")).toBe(0);
    expect(model.asked).toEqual([]);
  });

  it("goes by the names of the model's class and of the model", () => {
    expect(modelCounter(new WordModel()).id).toBe("model:WordModel:words-1:1");
    expect(modelCounter({ getNumTokens: () => Promise.resolve(1) }).id).toBe("model:unnamed:1");
  });

  it("passes the model's failure on", async () => {
    const counter = modelCounter({ getNumTokens: () => Promise.reject(new Error("offline")) });
    await expect(counter.countText("a")).rejects.toThrow("offline");
  });

  it("rejects what cannot count", () => {
    expect(() => modelCounter({} as never)).toThrow(ConfigurationError);
  });
});

describe("countMessages", () => {
  it("adds up the messages and what a request costs once", async () => {
    const counter = modelCounter(new WordModel());
    const each = 3 + 1 + 2;
    expect(await countMessages(counter, [new HumanMessage("hello there"), new HumanMessage("how now")])).toBe(
      2 * each + 3,
    );
    expect(await countMessages(counter, [])).toBe(3);
  });

  it("reads what a request costs after the first count, when a counter may know it better", async () => {
    let counted = false;
    const counter = {
      id: "late",
      get perRequest() {
        return counted ? 10 : 0;
      },
      countMessage: () => {
        counted = true;
        return 1;
      },
      countText: () => 1,
    };
    expect(await countMessages(counter, [new HumanMessage("a")])).toBe(11);
  });
});
