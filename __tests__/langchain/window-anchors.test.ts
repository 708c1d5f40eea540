import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import { InMemorySessionStore, RedisChatMemory, type MemorySettings } from "../../src/entries/index.js";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { lookup, SlowModel, ToolModel } from "../support/agents.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";

const systemPrompt = "You are a helpful agent of an airline. ".repeat(20);

/** A model that calls a tool for each question, counts tokens in its own way, and says so. */
class BillingModel extends ToolModel {
  readonly inputs: number[] = [];

  constructor(
    readonly model: string,
    readonly rate = 1,
  ) {
    super((messages) => this.#answer(messages));
  }

  override get profile() {
    return { maxInputTokens: 50_000 };
  }

  #answer(messages: readonly BaseMessage[]): AIMessage {
    const sizes = messages.map((message) => 12 + JSON.stringify(message.toDict().data).length / 3);
    const input = Math.ceil(this.rate * sizes.reduce((sum, size) => sum + size, 100));
    this.inputs.push(input);
    const last = messages.at(-1)!;
    const usage_metadata = { input_tokens: input, output_tokens: 10, total_tokens: input + 10 };
    const id = `call-${100 + this.inputs.length}`;
    const call = { id, name: "lookup", args: { query: last.text }, type: "tool_call" as const };
    return HumanMessage.isInstance(last)
      ? new AIMessage({ content: "", tool_calls: [call], usage_metadata })
      : new AIMessage({ content: "It is so. ".repeat(9), usage_metadata });
  }
}

/** A model of the same name that can be stopped. */
class StoppedModel extends SlowModel {
  readonly model = "m";

  override get profile() {
    return { maxInputTokens: 50_000 };
  }
}

const agentOf = (memory: RedisChatMemory, model: ToolModel) =>
  createAgent({
    model,
    tools: [lookup],
    systemPrompt,
    middleware: [redisMemoryMiddleware({ memory, onAbort: "keep" })],
  });
const ask = (memory: RedisChatMemory, model: ToolModel, turnId: string, id = "s") =>
  agentOf(memory, model).invoke(
    { messages: [new HumanMessage(`Question ${turnId}: ${"where to, and when? ".repeat(9)}`)] },
    { configurable: { sessionId: id, turnId } },
  );
const gauge = (memory: RedisChatMemory, model: ToolModel, id = "s") => memory.history(id).contextUsage({ model });

/** Turns t0 to t2 of a session, and a way to look at it from another instance. */
async function begun(settings: MemorySettings = {}) {
  const store = new InMemorySessionStore();
  const [open, model] = [() => new RedisChatMemory({ store, ...settings }), new BillingModel("m", 1.3)];
  for (const turnId of ["t0", "t1", "t2"]) {
    await ask(open(), model, turnId);
  }
  return { open, model };
}

/** The next request of a session takes about what the gauge said before, and the question. */
async function expectNear(memory: RedisChatMemory, model: BillingModel, id = "s"): Promise<void> {
  const before = (await gauge(memory, model, id))!;
  const { length } = model.inputs;
  await ask(memory, model, "next", id);
  expect(before.source).toBe("provider");
  const question = model.rate * 120;
  expect(Math.abs((before.tokens + question) / model.inputs[length]! - 1)).toBeLessThan(0.05);
}

describe("what a provider counted for an answer's request", () => {
  it("counts for every instance, also of encrypted sessions and behind beforeStore", async () => {
    const plain = await begun();
    const usage = await gauge(plain.open(), plain.model);
    expect(usage).toMatchObject({ source: "provider", model: "m" });
    const redacted = await begun({ beforeStore: (message) => message });
    const sealed = await begun({ encryption: testKeys("k1") });
    expect([await gauge(redacted.open(), redacted.model), await gauge(sealed.open(), sealed.model)]).toEqual([
      usage,
      usage,
    ]);
    await expectNear(sealed.open(), sealed.model);
  });

  it("is that of a fork too", async () => {
    const { open, model } = await begun();
    await open().history("s").fork("copy");
    expect(await gauge(open(), model, "copy")).toEqual(await gauge(open(), model));
    await expectNear(open(), model, "copy");
  });

  it("leaves with its answer, when the session is rewound or an answer replaced", async () => {
    const { open, model } = await begun();
    const before = await gauge(open(), model);
    await ask(open(), model, "t3");
    const transcript = await open().history("s").getTranscript();
    const question = transcript.findLast((message) => HumanMessage.isInstance(message))!;
    await open().history("s").rewind(question.id!);
    expect(await gauge(open(), model)).toEqual(before);
    await expectNear(open(), model);
  });

  it("belongs to one model, and is that of the new one behind its first answer", async () => {
    const { open, model } = await begun();
    const other = new BillingModel("other", 0.8);
    expect(await gauge(open(), other)).toMatchObject({ source: "estimate", model: "other" });
    await ask(open(), other, "t3");
    await expectNear(open(), other);
    const old = (await gauge(open(), model))!;
    expect(old.source).toBe("provider");
    expect(old.tokens).toBeGreaterThan((await gauge(open(), other))!.tokens * 1.3);
  });

  it("is not changed by a retried turn, which calls no model", async () => {
    const { open, model } = await begun();
    const [before, calls] = [await gauge(open(), model), model.inputs.length];
    await ask(open(), model, "t2");
    expect(model.inputs).toHaveLength(calls);
    expect(await gauge(open(), model)).toEqual(before);
  });

  it("stays the base behind a stopped answer, which tells none", async () => {
    const { open, model } = await begun();
    const before = (await gauge(open(), model))!;
    const [memory, stopped, controller] = [open(), new StoppedModel(["one ", "two ", "three "]), new AbortController()];
    let ended!: () => void;
    stopped.onWord = (word) => {
      if (word === "two ") {
        // The next word waits for the end of the run.
        stopped.pause = new Promise<void>((resolve) => (ended = resolve));
        setTimeout(() => controller.abort(), 5);
      }
    };
    const input = { messages: [new HumanMessage("Question t3: and then?")] };
    const how = { configurable: { sessionId: "s", turnId: "t3" }, signal: controller.signal };
    const stream = await agentOf(memory, stopped).stream(input, { ...how, streamMode: "messages" });
    const reading = all(stream);
    await reading.catch(() => undefined);
    ended();
    await memory.drain();
    expect((await open().history("s").getTranscript()).at(-1)!.text).toBe("one two ");
    const after = (await gauge(open(), model))!;
    expect(after.source).toBe("provider");
    expect(after.tokens).toBeGreaterThan(before.tokens);
    await expectNear(open(), model);
  });
});
