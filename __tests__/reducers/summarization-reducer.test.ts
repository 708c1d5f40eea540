import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  type BaseMessage,
  type MessageContent,
} from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import type { ChatHistorySummarizationReducerOptions } from "../../src/entries/index.js";
import { summaryMarkOf } from "../../src/conversation/messages/message.js";
import { SummaryError } from "../../src/base/errors.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { ScriptedModel, type Script } from "../support/scripted-model.js";

type Options = Omit<ChatHistorySummarizationReducerOptions, "model">;

function writer(reply: (sent: BaseMessage[]) => string = () => "They spoke."): ScriptedModel {
  return new ScriptedModel(reply);
}

function reducerOf(
  model: ScriptedModel,
  options: Options = { targetCount: 2, thresholdCount: 0 },
): ChatHistorySummarizationReducer {
  return new ChatHistorySummarizationReducer({ model, ...options });
}

/** The text of a request's one human message. */
function told(model: ScriptedModel, call = 0): string {
  return model.sent[call]![1]!.text;
}

const talk = Array.from({ length: 4 }, (_, index) => [
  human(`question ${index}`, `q${index}`),
  ai(`answer ${index}`, { id: `a${index}` }),
]).flat();
const texts = (messages: readonly BaseMessage[]): string[] => messages.map(({ text }) => text);

describe("summarizing by count", () => {
  it("replaces the oldest messages with a marked summary", async () => {
    const outcome = await reducerOf(writer()).reduceWithOutcome([system("S"), ...talk]);
    const [first, summary, ...rest] = outcome.messages;
    expect(first!.text).toBe("S");
    expect(summary!.text).toMatch(/^Summary of the earlier conversation .*\nThey spoke\.$/);
    expect(summary!.getType()).toBe("human");
    expect(summaryMarkOf(summary!)).toEqual({ firstId: "q0", lastId: "a2", count: 6 });
    expect(rest).toEqual(talk.slice(6));
    expect(outcome).toMatchObject({
      changed: true,
      reason: "reduced",
      removed: talk.slice(0, 6),
      before: { messages: 9 },
      after: { messages: 4 },
    });
    expect(outcome.summary).toBe(summary);
  });

  it("shows the model the messages that leave and nothing else", async () => {
    const model = writer();
    await reducerOf(model).invoke([system("SECRET PROMPT"), ...talk]);
    expect(model.sent[0]!.map((message) => message.getType())).toEqual(["system", "human"]);
    expect(told(model)).toContain("user: question 0\nassistant: answer 0\nuser: question 1");
    expect(told(model)).not.toMatch(/SECRET|question 3|answer 3/);
  });

  it("keeps the human message of a round that it cuts, and does not summarize it yet", async () => {
    const model = writer();
    const round = [human("do it", "r"), aiCalls("1"), tool("1"), aiCalls("2"), tool("2"), ai("done")];
    const result = await reducerOf(model).invoke([...talk.slice(0, 2), ...round]);
    expect(texts(result).slice(1)).toEqual(["do it", "", "result of 2", "done"]);
    expect(told(model)).not.toContain("do it");
  });

  it("waits by default for as many messages as it keeps", async () => {
    const model = writer();
    const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 4 });
    expect(reducer.viewLimit).toEqual({ messages: 8 });
    expect(await reducer.reduce(talk)).toBeNull();
    expect(model.sent).toHaveLength(0);
    expect(await reducer.reduce([...talk, human("one more")])).toHaveLength(1 + 5);
  });

  it.each(["system", "ai", "human"] as const)(
    "gives the summary the role %s where asked, and never begins a round with it",
    async (summaryRole) => {
      const model = writer();
      const reducer = reducerOf(model, { targetCount: 1, thresholdCount: 0, summaryRole });
      const once = (await reducer.reduce(talk.slice(0, 4)))!;
      expect(once[0]!.getType()).toBe(summaryRole);
      const twice = (await reducer.reduce([...once, ...talk.slice(4)]))!;
      expect(told(model, 1)).toContain("<summary_so_far>\nThey spoke.\n</summary_so_far>");
      expect(twice.filter((message) => summaryMarkOf(message) !== undefined)).toHaveLength(1);
    },
  );

  it.each([
    ["text", "plain"],
    ["a message", new AIMessage("plain")],
    ["a chunk", new AIMessageChunk("plain")],
    ["blocks", new AIMessage({ content: [{ type: "text", text: "plain" }] })],
  ])("accepts %s from any Runnable", async (_, answer) => {
    const model = RunnableLambda.from((_messages: BaseMessage[]) => answer);
    const result = await new ChatHistorySummarizationReducer({ model, targetCount: 1, thresholdCount: 0 }).invoke(talk);
    expect(result[0]!.text).toMatch(/plain$/);
  });

  it("passes custom instructions to the model", async () => {
    const model = writer();
    await reducerOf(model, { targetCount: 1, thresholdCount: 0, summarizationInstructions: "In rhyme." }).invoke(talk);
    expect(model.sent[0]![0]!.text).toBe("In rhyme.");
  });

  it("includes shortened calls and results, or only the tools' names", async () => {
    const steps = [human("find"), aiCalls("1"), tool("1", "x".repeat(5000)), ...talk];
    const [full, names] = [writer(), writer()];
    await reducerOf(full, { targetCount: 2, thresholdCount: 0 }).invoke(steps);
    expect(told(full)).toContain(`assistant called lookup({"query":"1"})\ntool(lookup): ${"x".repeat(2_000)} […]\n`);
    await reducerOf(names, { targetCount: 2, thresholdCount: 0, includeFunctionContentInSummary: false }).invoke(steps);
    expect(told(names)).toContain("user: find\nassistant called lookup\nuser: question 0");
    expect(told(names)).not.toContain("xxx");
  });
});

describe("a single summary that is updated", () => {
  it("covers what the previous one covered", async () => {
    const model = writer((sent) => (sent[1]!.text.includes("so_far") ? "They spoke on." : "They spoke."));
    const reducer = reducerOf(model);
    const once = await reducer.invoke(talk);
    const outcome = await reducer.reduceWithOutcome([...once, human("more", "q4"), ai("yes", { id: "a4" })]);
    const request = told(model, 1);
    expect(request).toContain("<summary_so_far>\nThey spoke.\n</summary_so_far>\n\n<messages>\n");
    expect(request).toContain("</summary_so_far>\n\n<messages>\nuser: question 3\nassistant: answer 3\n</messages>");
    expect(outcome.messages.map(({ text }) => text.split("\n").at(-1))).toEqual(["They spoke on.", "more", "yes"]);
    expect(summaryMarkOf(outcome.summary!)).toEqual({ firstId: "q0", lastId: "a3", count: 8 });
    expect(outcome.removed).toEqual([once[0], ...talk.slice(6)]);
  });

  it("is written from messages with content and arguments that are not JSON, as far as possible", async () => {
    const model = writer();
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    const odd = [
      null,
      ["plain", null, 7, { text: "of no type" }],
      { answer: 42 },
      [{ type: "text", text: "marked" }, { type: "image_url" }],
    ];
    const messages = odd.map((content) => new HumanMessage({ content: content as unknown as MessageContent }));
    const calls = [{ n: 1n }, loop].map((args, index) => ({ id: `c${index}`, name: "add", args }));
    await reducerOf(model).invoke([
      ...messages,
      new AIMessage({ content: "", tool_calls: calls }),
      tool("c0"),
      tool("c1"),
      ...talk.slice(6),
    ]);
    expect(told(model)).toContain(
      "user: plain [unknown] [unknown] of no type\nuser: marked [image_url]\nassistant called " +
        'add({"n":"1"})\nassistant called add(…)',
    );
  });
});

describe("multiple summaries", () => {
  const options: Options = { targetCount: 1, thresholdCount: 0, useSingleSummary: false, maxSummaries: 3 };

  async function play(model: ScriptedModel, turns: number): Promise<BaseMessage[]> {
    const reducer = reducerOf(model, options);
    let view: BaseMessage[] = [system("S")];
    for (let turn = 0; turn < turns; turn += 1) {
      view = await reducer.invoke([
        ...view,
        human(`question ${turn}`, `q${turn}`),
        ai(`answer ${turn}`),
        human(`again ${turn}`, `g${turn}`),
      ]);
    }
    return view;
  }

  it("adds a summary to the earlier ones, which stay and which the model sees", async () => {
    let written = 0;
    const model = writer(() => `part ${(written += 1)}`);
    const view = await play(model, 3);
    expect(texts(view).map((text) => text.split("\n").at(-1))).toEqual(["S", "part 1", "part 2", "part 3", "again 2"]);
    expect(told(model, 2)).toContain("part 1\n\npart 2\n</summary_so_far>");
    expect(told(model, 2)).toContain("Write a summary of the messages only");
    expect(told(model, 2)).not.toContain("question 0");
  });

  it("is one that replaces them all if there would be too many", async () => {
    let written = 0;
    const model = writer(() => `part ${(written += 1)}`);
    const view = await play(model, 5);
    const summaries = view.filter((message) => summaryMarkOf(message) !== undefined);
    expect(texts(summaries).map((text) => text.split("\n").at(-1))).toEqual(["part 4", "part 5"]);
    expect(told(model, 3)).toContain("part 1\n\npart 2\n\npart 3\n</summary_so_far>");
    expect(told(model, 3)).toContain("Write one summary of all of the above.");
    expect(summaries.map((message) => summaryMarkOf(message)!.count).reduce((sum, count) => sum + count, 0)).toBe(14);
    expect(summaryMarkOf(summaries[0]!)).toMatchObject({ firstId: "q0" });
    expect(model.sent.length).toBe(5);
  });
});

const cutOffMessage = () =>
  new AIMessage({ content: "They spoke of a ref", response_metadata: { finish_reason: "length" } });

describe("a summary that fails", () => {
  const failing: readonly [string, string, (sent: BaseMessage[]) => ReturnType<Script>][] = [
    ["the model fails", "failed", () => new Error("overloaded")],
    ["it is blank", "empty", () => " \n"],
    ["it is a thought", "empty", () => "<think>\nThe user wants"],
    ["it is cut off", "cut_off", () => cutOffMessage()],
    ["it is longer than what it stands for", "too_long", (sent) => `${sent[1]!.text} `.repeat(10)],
    ["the model hangs", "timeout", () => new Promise(() => undefined)],
  ];
  const reply = (script: (typeof failing)[number][2]) => new ScriptedModel((sent) => script(sent));

  it.each(failing)("leaves all messages where they are when %s", async (_, code, script) => {
    const options = { targetCount: 2, thresholdCount: 0, timeout: code === "timeout" ? 50 : 60_000 };
    const outcome = await reducerOf(reply(script), { ...options, failOnError: false }).reduceWithOutcome(talk);
    expect(outcome).toMatchObject({ changed: false, reason: "summary_failed", removed: [], error: { code } });
    expect(outcome.messages).toEqual(talk);
    expect(await reducerOf(reply(script), { ...options, failOnError: false }).invoke(talk)).toEqual(talk);
    const error: unknown = await reducerOf(reply(script), options)
      .reduce(talk)
      .catch((reason: unknown) => reason);
    expect(SummaryError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ code, retryable: true });
    expect((error as Error).message).not.toMatch(/question|answer/);
  });

  it("keeps the cause of the model's failure", async () => {
    const cause = new Error("overloaded");
    await expect(reducerOf(reply(() => cause)).reduce(talk)).rejects.toMatchObject({
      code: "failed",
      cause: { message: "overloaded" },
    });
  });

  it("ends with the caller's own reason when the caller aborts, whatever failOnError says", async () => {
    const controller = new AbortController();
    const model = new ScriptedModel(() => new Promise(() => undefined));
    const running = reducerOf(model, { targetCount: 2, thresholdCount: 0, failOnError: false }).reduce(talk, {
      signal: controller.signal,
    });
    setImmediate(() => controller.abort(new Error("user left")));
    await expect(running).rejects.toThrow("user left");
    await expect(
      reducerOf(model).reduce(talk, { signal: AbortSignal.abort(new Error("gone already")) }),
    ).rejects.toThrow("gone already");
  });

  it("tells the model to stop when its time is over", async () => {
    let signal: AbortSignal | undefined;
    const model = RunnableLambda.from((_: BaseMessage[], config): Promise<string> => {
      signal = (config as { signal?: AbortSignal }).signal;
      return new Promise(() => undefined);
    });
    const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 1, thresholdCount: 0, timeout: 300 });
    await expect(reducer.reduce(talk)).rejects.toMatchObject({ code: "timeout" });
    expect(signal?.aborted).toBe(true);
  });

  it("spaces out its tries after three failures in a row, for that conversation only", async () => {
    const model = reply(() => new Error("down"));
    const reducer = reducerOf(model);
    const codes: unknown[] = [];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      codes.push(await reducer.reduce(talk).catch((error: SummaryError) => error.code));
    }
    expect(codes).toEqual(["failed", "failed", "failed", "backing_off", "backing_off"]);
    expect(model.sent).toHaveLength(3);
    const other = talk.map((message) => (message.getType() === "human" ? human(message.text) : ai(message.text)));
    await expect(reducer.reduce(other)).rejects.toMatchObject({ code: "failed" });
  });
});

describe("no call without progress", () => {
  it.each([
    ["within the limit", talk.slice(0, 2)],
    ["one step that must stay whole", [aiCalls("1"), tool("1"), tool("1"), tool("1")]],
    ["no more than the summary would put back", [human("a"), human("b"), human("c")]],
    ["nothing to tell", [ai(""), ai(" ".trim()), ai("x"), ai("y")]],
  ])("does not affect %s", async (_, messages) => {
    const model = writer();
    expect(await reducerOf(model).reduce(messages)).toBeNull();
    expect(model.sent).toHaveLength(0);
  });
});

describe("summarizing by tokens", () => {
  const long = Array.from({ length: 20 }, (_, index) =>
    index % 2 === 0 ? human("q".repeat(64), `q${index}`) : ai("a".repeat(64), { id: `a${index}` }),
  );

  function tokenReducer(model: ScriptedModel, options: Options): [ChatHistorySummarizationReducer, CountingCounter] {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    return [reducerOf(model, { ...options, tokenCounter }), tokenCounter];
  }

  it("reduces to the target, including the summary", async () => {
    const [reducer, counter] = tokenReducer(writer(), { maxTokens: 300 });
    const outcome = await reducer.reduceWithOutcome(long);
    expect(outcome.after.tokens).toBe(counter.totalOf(outcome.messages));
    expect(outcome.after.tokens).toBeLessThanOrEqual(225);
    expect(summaryMarkOf(outcome.messages[0]!)!.count + outcome.messages.length - 1).toBe(20);
    expect(reducer.viewLimit).toEqual({ tokens: 300 });
  });

  it("treats a summary that does not fit beside the rest as a failure", async () => {
    const [reducer] = tokenReducer(
      writer(() => "too much ".repeat(60)),
      { maxTokens: 300 },
    );
    await expect(reducer.reduce(long)).rejects.toMatchObject({ code: "too_long" });
  });

  it("clips the newest step's results if it alone is too long, without a model call if nothing leaves", async () => {
    const model = writer();
    const [reducer, counter] = tokenReducer(model, { maxTokens: 200 });
    const step = [human("find"), aiCalls("1"), tool("1", "x".repeat(4000))];
    const alone = await reducer.reduceWithOutcome(step);
    expect(model.sent).toHaveLength(0);
    expect(counter.totalOf(alone.messages)).toBeLessThanOrEqual(200);
    const after = await reducer.reduceWithOutcome([...long, ...step]);
    expect(after).toMatchObject({ changed: true, overBudgetBy: 0 });
    expect(after.messages).toHaveLength(4);
  });

  it("only clips the newest step if the messages that would leave contain nothing to summarize", async () => {
    const model = writer();
    const [reducer, counter] = tokenReducer(model, { maxTokens: 1000, targetTokens: 1000 });
    const blank = Array.from({ length: 40 }, () => ai(""));
    const steps = [human("find"), aiCalls("1"), tool("1", "x".repeat(1640)), aiCalls("2"), tool("2", "y".repeat(1640))];
    const outcome = await reducer.reduceWithOutcome([...blank, ...steps]);
    expect(model.sent).toHaveLength(0);
    expect(counter.totalOf(outcome.messages)).toBeLessThanOrEqual(1000);
    expect(outcome.messages.slice(0, -1)).toEqual([...blank, ...steps.slice(0, -1)]);
    expect(outcome.messages.at(-1)!.text).toMatch(/^y+\n\[shortened/);
  });

  it("reports by how much the remaining messages exceed the maximum", async () => {
    const [reducer] = tokenReducer(writer(), { maxTokens: 100 });
    const outcome = await reducer.reduceWithOutcome([...long, human("z".repeat(4000))]);
    expect(outcome.messages).toHaveLength(2);
    expect(outcome.overBudgetBy).toBe(outcome.after.tokens! - 100);
    expect(await reducer.reduceWithOutcome(outcome.messages)).toMatchObject({
      changed: false,
      reason: "nothing_removable",
    });
  });
});

describe("the input limit of the summarization model", () => {
  const many = Array.from({ length: 60 }, (_, index) => human(`<${index}> ${"word ".repeat(60)}`));

  it("summarizes long input completely, in several requests, each with the summary so far", async () => {
    const tokenCounter = new CountingCounter();
    let written = 0;
    const model = writer(() => `summary ${(written += 1)}`);
    const result = await reducerOf(model, {
      targetCount: 1,
      thresholdCount: 0,
      maxInputTokens: 1200,
      tokenCounter,
    }).invoke(many);
    expect(model.sent.length).toBeGreaterThan(3);
    for (const [call, sent] of model.sent.entries()) {
      expect(sent.reduce((total, { text }) => total + tokenCounter.countText(text), 0)).toBeLessThanOrEqual(1200);
      expect(call === 0 || sent[1]!.text.includes(`<summary_so_far>\nsummary ${call}\n`)).toBe(true);
    }
    const all = model.sent.map((sent) => sent[1]!.text).join("\n");
    expect(Array.from({ length: 59 }, (_, index) => all.split(`<${index}> `).length)).toEqual(
      Array.from({ length: 59 }, () => 2),
    );
    expect(result[0]!.text).toContain(`summary ${model.sent.length}`);
  });

  it("splits a message that is too long for one request", async () => {
    const tokenCounter = new CountingCounter();
    const model = writer();
    const giant = [human("x".repeat(20_000)), ai("y"), human("z")];
    await reducerOf(model, { targetCount: 1, thresholdCount: 0, maxInputTokens: 1200, tokenCounter }).invoke(giant);
    const all = model.sent.map((sent) => sent[1]!.text).join("");
    expect(all.split("x").length - 1).toBe(20_000);
    expect(model.sent.every((sent) => tokenCounter.countText(sent[1]!.text) < 1200)).toBe(true);
  });
});

describe("in traces", () => {
  it("the model call is a child of the reducer's run and stays out of the run's own stream", async () => {
    const runs: { name: string; id: string; parent: string | undefined; tags: string[] }[] = [];
    const model = new ScriptedModel(() => "They spoke.");
    await reducerOf(model).invoke(talk, {
      tags: ["mine"],
      callbacks: [
        {
          handleChainStart: (...given: unknown[]) =>
            void runs.push({ name: String(given[7]), id: String(given[2]), parent: given[3] as undefined, tags: [] }),
          handleChatModelStart: (...given: unknown[]) =>
            void runs.push({
              name: "model",
              id: String(given[2]),
              parent: given[3] as string,
              tags: given[5] as string[],
            }),
        },
      ],
    });
    expect(runs.map(({ name }) => name)).toEqual(["ChatHistorySummarizationReducer", "model"]);
    expect(runs[1]!.parent).toBe(runs[0]!.id);
    expect(runs[1]!.tags).toEqual(expect.arrayContaining(["mine", "nostream"]));
  });

  it("requires a lease that is longer than a summary may take", () => {
    const reducer = reducerOf(writer(), { targetCount: 1, timeout: 1000 });
    expect(reducer.requiresLease).toBe(true);
    expect(reducer.leaseMs).toBeGreaterThan(1000);
  });
});
