import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { createAgent, createMiddleware, tool } from "langchain";
import * as z from "zod";
import { ChatOpenAI } from "@langchain/openai";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import {
  ChatHistoryTruncationReducer,
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  withRedisMemory,
  type MemoryEvent,
  type ReducerLike,
} from "../../src/entries/index.js";
import { HistoryManager } from "../../src/entries/tool-loop.js";
import {
  type BuiltInProfile,
  builtInProfiles,
  editMessage,
  redact,
  repairConversation,
  toModel,
  validateConversation,
  wired,
} from "../../src/entries/structure.js";
import {
  answers,
  asked,
  before,
  type Body,
  caught,
  item,
  models,
  ofOpenAi,
  readable,
  run,
  said,
  sealed,
  sessionWith,
  text,
} from "../support/compactions.js";
import { CountingCounter } from "../support/counting-counter.js";

/** The answer behind a thought that OpenAI did not keep, and did not encrypt. */
function withReasoning(answer: AIMessage): AIMessage {
  const output = (answer.response_metadata as { output: object[] }).output.toSpliced(2, 0, {
    ...{ type: "reasoning", id: "rs_1", summary: [] },
  });
  return Object.assign(answer, { response_metadata: { ...answer.response_metadata, output } });
}

type Session = Awaited<ReturnType<typeof sessionWith>>;

/** The doors that call models: each asks one question. */
const doors: Readonly<Record<string, (session: Session, model: BaseChatModel, question: string) => Promise<unknown>>> =
  {
    "an agent": ({ memory }, model, question) =>
      createAgent({ model, middleware: [redisMemoryMiddleware({ memory })] }).invoke(
        { messages: [new HumanMessage(question)] },
        run,
      ),
    "a chain": ({ memory }, model, question) =>
      withRedisMemory(
        ChatPromptTemplate.fromMessages([
          ["placeholder", "{history}"],
          ["human", "{input}"],
        ]).pipe(model),
        {
          memory,
          inputMessagesKey: "input",
          historyMessagesKey: "history",
        },
      ).invoke({ input: question }, run),
    "a HistoryManager": async ({ history }, model, question) => {
      const manager = new HistoryManager({ history, model, maxInputTokens: 10_000 });
      const { messages } = await manager.getHistoryForModelCall({
        originalUserMessage: question,
        renderedUserMessage: question,
        renderedSystemMessage: "Be brief.",
      });
      manager.addAssistantMessage(await model.invoke(messages));
      await manager.commit();
    },
  };

const dropped = (provider: string, became: string) => ({
  type: "compaction_dropped",
  sessionId: "s",
  messageId: "k",
  provider,
  became,
});

describe.each(Object.keys(doors))("%s of another provider's model", (door) => {
  it.each(Object.entries(readable))("gets %s as a summary, and its own provider the block", async (_, answer) => {
    const session = await sessionWith(answer());
    const bodies: Body[] = [];
    await doors[door]!(session, models.openai(bodies), "And now?");
    const sent = JSON.stringify(bodies[0]);
    expect(sent).not.toContain("early");
    expect(sent).not.toContain("compaction");
    const summary = bodies[0]!.input!.find(({ role }) => role !== "system" && role !== "developer")!;
    expect(summary["role"]).toBe("user");
    expect(JSON.stringify(summary)).toMatch(/Summary of the earlier conversation.*They talked about Oslo\./);
    expect(sent.includes("At noon.")).toBe(answer().text !== "");
    await doors[door]!(session, models.openai(bodies), "And then?");
    expect(session.events).toEqual([dropped("anthropic", "summary")]);
    const own: Body[] = [];
    await doors[door]!(session, models.anthropic(own), "Back?");
    expect((own[0]!.messages![0]!.content as object[])[0]).toEqual((answer().content as object[])[0]);
  });

  it.each(Object.entries(sealed))("gets the transcript in place of %s", async (_, answer) => {
    const session = await sessionWith(answer());
    const bodies: Body[] = [];
    await doors[door]!(session, models.anthropic(bodies), "And now?");
    const sent = JSON.stringify(bodies[0]);
    expect(sent).not.toContain("sealed");
    for (const message of [...before, asked]) {
      expect(sent).toContain(message.text);
    }
    expect(sent.includes("At noon.")).toBe(answer().text !== "");
    await doors[door]!(session, models.anthropic(bodies), "And then?");
    expect(session.events).toEqual([dropped("openai", "transcript")]);
    const own: Body[] = [];
    await doors[door]!(session, models.openai(own), "Back?");
    expect(JSON.stringify(own[0]).split("gAAAA-sealed==")).toHaveLength(2);
    expect(JSON.stringify(own[0])).not.toContain("early");
  });
});

describe.each(["an agent", "a chain"])("a reducer of %s", (door) => {
  it.each<[string, ReducerLike]>([
    ["by count", new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 0 })],
    ["that fits the window", contextWindow({ maxInputTokens: 230, target: 0.6, tokenCounter: new CountingCounter() })],
  ])("%s cuts the transcript again, and its result is the view", async (_, reducer) => {
    const session = await sessionWith(sealed["an item beside an answer"](), reducer);
    const bodies: Body[] = [];
    await doors[door]!(session, models.anthropic(bodies), "And now?");
    expect(JSON.stringify(bodies[0])).not.toContain("early question 0");
    expect(JSON.stringify(bodies[0])).toContain("At noon.");
    const view = await session.history.getMessages();
    expect(JSON.stringify(view.map((message) => message.toDict()))).not.toContain("sealed");
    expect(view.map(({ text: own }) => own)).toEqual(
      expect.arrayContaining(["Be brief.", "At noon.", "And now?", "Well."]),
    );
    expect(view.length).toBeLessThan(10);
    expect(await session.history.getTranscript()).toHaveLength(17);
    await doors[door]!(session, models.anthropic(bodies), "And then?");
    expect(session.events).toEqual([dropped("openai", "transcript")]);
  });
});

describe("an agent that calls another provider's model in the middle of a turn", () => {
  const call = { type: "function_call", call_id: "c1", name: "look", arguments: "{}", id: "fc_1", status: "completed" };
  const look = tool(() => "rain", { name: "look", schema: z.object({}) });

  it.each<[string, object[], string]>([
    ["sealed", [item, call], "early question 0"],
    ["nothing", [call], "early question 0"],
  ])("has the whole turn behind what stands before it (%s)", async (_, output, early) => {
    const session = await sessionWith(new AIMessage({ id: "plain", content: "Hm." }));
    const [first, second]: Body[][] = [[], []];
    const configuration = { fetch: caught(first!, { ...answers.openai, output }) };
    const model = new ChatOpenAI({ model: "gpt-5", apiKey: "k", maxRetries: 0, useResponsesApi: true, configuration });
    const other = models.anthropic(second!);
    const changing = createMiddleware({
      name: "changing",
      wrapModelCall: (request, handler) => handler(first!.length === 0 ? request : { ...request, model: other }),
    });
    const middleware = [changing, redisMemoryMiddleware({ memory: session.memory })] as const;
    const agent = createAgent({ model, tools: [look], middleware });
    const { messages } = await agent.invoke({ messages: [new HumanMessage("Weather?")] }, run);
    expect(messages.at(-1)!.text).toBe("Well.");
    const sent = JSON.stringify(second![0]);
    for (const part of [early, "Weather?", "c1", "rain"]) {
      expect(sent).toContain(part);
    }
    expect(sent).not.toContain("sealed");
    expect(session.events.map((event) => (event as { became: string }).became)).toEqual(
      output.length > 1 ? ["transcript"] : [],
    );
    expect(await session.history.getTranscript()).toHaveLength(19);
  });
});

describe("what OpenAI compacted", () => {
  const kept = { type: "message", role: "user", content: [{ type: "input_text", text: "Weather in Oslo?" }] };
  const call = { type: "function_call", call_id: "c1", name: "look", arguments: '{"at":"Oslo"}', id: "fc_1" };
  const output = [kept, item, { ...said, content: [{ ...text, text: "At noon." }] }, call];
  const calls = [{ id: "c1", name: "look", args: { at: "Oslo" } }];
  const answer = () =>
    new AIMessage({
      id: "k",
      content: [{ type: "text", text: "At noon." }],
      tool_calls: calls,
      response_metadata: { model_provider: "openai", output },
    });
  const result = new ToolMessage({ id: "t", content: "rain", tool_call_id: "c1", name: "look" });
  const midday = (message: AIMessage) => editMessage(message, { text: (given) => given.replace("noon", "midday") });

  it.each<[string, () => AIMessage, string]>([
    ["edits", () => midday(answer()), "At midday."],
    ["redactions", () => redact("noon", "midday")(answer()), "At midday."],
    ["changes of the content alone", () => Object.assign(answer(), { content: "At midday." }), "At midday."],
    ["reasoning that is not kept", () => withReasoning(answer()), "At noon."],
  ])("goes back to OpenAI after %s", async (_, changed, words) => {
    const bodies: Body[] = [];
    const model = models.openai(bodies).bindTools!([]);
    const options = { model, tools: [{ name: "look" }], repair: { storesReasoning: false } };
    const given = [changed(), result, new HumanMessage("And now?")];
    const { messages } = await toModel(given, options as never);
    await model.invoke(messages);
    const [first, second, third, fourth, ...rest] = bodies[0]!.input!;
    expect(first).toEqual(kept);
    expect(second).toEqual({ type: "compaction", encrypted_content: item.encrypted_content });
    expect(JSON.stringify(third)).toContain(words);
    expect(fourth).toMatchObject({ type: "function_call", call_id: "c1", arguments: '{"at":"Oslo"}' });
    expect(rest.map(({ type }) => type)).toEqual(["function_call_output", "message"]);
    expect((await toModel(messages, options as never)).repairs).toEqual([]);
  });

  it("goes out twice from two copies of an answer, without the id that OpenAI takes once", async () => {
    const bodies: Body[] = [];
    const model = models.openai(bodies);
    const copies = [ofOpenAi("", [item]), new HumanMessage("q"), ofOpenAi("", [item]), new HumanMessage("And now?")];
    await model.invoke((await toModel(copies, { model })).messages);
    const sent = bodies[0]!.input!.filter(({ type }) => type === "compaction");
    expect(sent).toEqual([item, { type: "compaction", encrypted_content: item.encrypted_content }]);
  });

  it.each(Object.keys(doors))("goes back to OpenAI from a session that redacts, through %s", async (door) => {
    const store = new InMemorySessionStore();
    const events: MemoryEvent[] = [];
    const memory = new RedisChatMemory({
      store,
      beforeStore: redact("noon", "midday"),
      onEvent: (e) => events.push(e),
    });
    const history = memory.history("s");
    await history.addMessages([...before, asked, sealed["an item beside an answer"]()]);
    const bodies: Body[] = [];
    await doors[door]!({ memory, history, events, store }, models.openai(bodies), "And now?");
    const sent = JSON.stringify(bodies[0]);
    expect([sent.split("gAAAA-sealed==").length, sent.includes("At midday."), sent.includes("early")]).toEqual([
      2,
      true,
      false,
    ]);
    expect(events.filter(({ type }) => type === "compaction_dropped")).toEqual([]);
  });

  it.each((Object.keys(builtInProfiles) as BuiltInProfile[]).filter((name) => name !== "openai-responses"))(
    "is told of where the profile %s keeps it from another provider's model",
    async (profile) => {
      const store = new InMemorySessionStore();
      const events: MemoryEvent[] = [];
      const memory = new RedisChatMemory({ store, profile, onEvent: (event) => events.push(event) });
      const history = memory.history("s");
      await history.addMessages([...before, asked, sealed["an item beside an answer"]()]);
      const bodies: Body[] = [];
      await doors["a chain"]!({ memory, history, events, store }, models.anthropic(bodies), "And now?");
      expect(events).toContainEqual(dropped("openai", "transcript"));
      expect(JSON.stringify(bodies[0])).toContain("early question 0");
    },
  );
});

describe("what no session can rebuild", () => {
  const list = (answer: BaseMessage) => [answer, new HumanMessage("And now?")];

  it("goes back to OpenAI with the user's messages that responses.compact kept beside it", async () => {
    const kept = { type: "message", role: "user", content: [{ type: "input_text", text: "Weather in Oslo?" }] };
    const bodies: Body[] = [];
    const model = models.openai(bodies);
    const { messages, repairs } = await toModel(list(ofOpenAi("", [kept, item])), { model });
    await model.invoke(messages);
    expect(repairs).toEqual([]);
    expect(bodies[0]!.input!.slice(0, 2)).toEqual([kept, item]);
    expect(JSON.stringify(bodies[0]!.input!.at(-1))).toContain("And now?");
  });

  it.each(Object.keys(builtInProfiles) as BuiltInProfile[])(
    "loses no text of Anthropic's in a request for %s",
    (profile) => {
      const given = list(readable["a block by itself"]());
      const { messages } = repairConversation(given, { profile, purpose: "model-input" });
      expect(JSON.stringify(messages)).toContain("They talked about Oslo.");
      const issues = validateConversation(messages, { profile, purpose: "model-input" });
      expect(issues.filter(({ severity }) => severity === "error")).toEqual([]);
    },
  );

  it("toModel gives a summary, and leaves out what is sealed", async () => {
    const { messages, repairs } = await toModel(list(readable["a block beside an answer"]()), {
      model: models.openai([]),
    });
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "human"]);
    expect(messages[0]!.text).toContain("They talked about Oslo.");
    expect(repairs).toContainEqual(expect.objectContaining({ rule: "S27", index: 0, action: "changed" }));
    const bodies: Body[] = [];
    const model = models.anthropic(bodies);
    await model.invoke((await toModel(list(sealed["an item beside an answer"]()), { model })).messages);
    expect(JSON.stringify(bodies)).toContain("At noon.");
    expect(JSON.stringify(bodies)).not.toContain("gAAAA-sealed");
  });

  it("a wired model reports what it leaves out", async () => {
    const events: MemoryEvent[] = [];
    const bodies: Body[] = [];
    const onEvent = (event: MemoryEvent) => void events.push(event);
    await wired(models.anthropic(bodies), { onEvent }).invoke(list(sealed["an item beside an answer"]()), run);
    expect(events).toEqual([dropped("openai", "nothing")]);
    expect(JSON.stringify(bodies)).not.toContain("gAAAA-sealed");
  });
});
