import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { ToolModel } from "../support/agents.js";
import { events, newMemory, texts } from "../support/memories.js";
import { ai, human, system } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { doors, type Ask, type DoorName, type Turn } from "./asking.js";

const server = sharedClient();

/** Asks through one door as a model counts its answers: `a1`, `a2`, and so on. */
class Client {
  readonly model: ToolModel;
  meanwhile: (() => Promise<unknown>) | undefined;
  isDown = false;
  readonly #ask: Ask;

  constructor(door: DoorName) {
    this.#ask = doors[door];
    let count = 0;
    this.model = new ToolModel(async () => {
      await this.meanwhile?.();
      return this.isDown ? new Error("down") : `a${(count += 1)}`;
    });
  }

  ask(memory: RedisChatMemory, input: readonly BaseMessage[], how: Omit<Turn, "input"> = {}): Promise<BaseMessage> {
    return this.#ask(memory, this.model, { input, ...how });
  }

  /** The text of the answer. */
  async say(memory: RedisChatMemory, input: readonly BaseMessage[], how?: Omit<Turn, "input">): Promise<string> {
    return (await this.ask(memory, input, how)).text;
  }

  /** What the model was sent last. */
  get sent(): string[] {
    return texts(this.model.sent.at(-1)!);
  }
}

const storedIn = async (memory: RedisChatMemory, sessionId = "s") =>
  texts(await memory.history(sessionId).getTranscript());
const countOf = (name: string) => events.filter(({ type }) => type === name).length;
const instances = (options: MemorySettings = {}) => {
  const redis = { keyPrefix: uniquePrefix() };
  return [newMemory({ redis, ...options }), newMemory({ redis, ...options })] as const;
};

/** What is found of a promise at a door: as it is kept, but for doors that keep less or cannot be asked. */
interface Promised {
  readonly promise: string;
  readonly find: (client: Client, door: DoorName) => Promise<unknown>;
  readonly kept: unknown;
  readonly but?: Readonly<Partial<Record<DoorName, unknown>>>;
}

const impossible = "cannot be asked";
const askedAgain = { answers: ["a1", "a2"], calls: 2, repeated: 0 };
const never = { "a HistoryManager": impossible, RunnableWithMessageHistory: impossible, "a plain append": impossible };

async function askTwice(client: Client, questions: readonly BaseMessage[], turnId?: string) {
  const memories = instances();
  const answers = [
    await client.say(memories[0], [questions[0]!], { turnId }),
    await client.say(memories[1], [questions[1]!], { turnId }),
  ];
  const repeated = countOf("turn_repeated");
  return { answers, stored: await storedIn(memories[0]), calls: client.model.sent.length, repeated };
}

/** A retry of the first of five turns behind reductions: whether its answer is told again, and stored again. */
async function retryReduced(client: Client, retention: "keep" | "discard") {
  const memory = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }), retention });
  for (const index of [1, 2, 3, 4, 5]) {
    await client.ask(memory, [human(`q${index}`)], { turnId: `t${index}` });
  }
  const before = await storedIn(memory);
  const answer = await client.say(memory, [human("q1")], { turnId: "t1" });
  return { isTold: answer === "a1", isStoredAgain: (await storedIn(memory)).join() !== before.join() };
}

/** The code of this package's error, which LangChain wraps where an agent's middleware throws it. */
const codeOf = ({ code, cause }: { code?: string; cause?: { code: string } }): string => code ?? cause!.code;

/** A stored turn that is asked again where Redis evicted its records. */
async function askEvicted(client: Client, onDamage: "error" | "rebuild") {
  const redis = { keyPrefix: uniquePrefix() };
  const memory = newMemory({ redis, onDamage });
  const ask = () => client.say(memory, [human("q", "q1")], { turnId: "t" });
  await ask();
  await server.unlink(sessionKeys(redis.keyPrefix, "s").log);
  const answer = await ask().catch(codeOf);
  return { answer, calls: client.model.sent.length };
}

/** A question whose id comes again, with the same text in two forms, and with another one. */
async function askEdited(client: Client, options: MemorySettings = {}) {
  const memory = newMemory(options);
  const answers: string[] = [];
  for (const content of ["one", "one", [{ type: "text" as const, text: "one" }], "two"]) {
    answers.push(await client.say(memory, [new HumanMessage({ id: "q1", content })]).catch(codeOf));
  }
  return { answers, stored: await storedIn(memory), kept: countOf("conflict_kept") > 0 };
}

/** A turn and its retry in a memory that redacts, and forgets ids. */
async function askRedacted(client: Client) {
  let count = 0;
  const beforeStore = async (message: BaseMessage) => {
    count += 1;
    return Object.assign(message, { id: "made up", content: message.text.replaceAll(/\d/g, "#") });
  };
  const memory = newMemory({ beforeStore });
  const ask = () => client.say(memory, [human("card 4111", "q1")], { turnId: "t" });
  const [first, onceEach] = [await ask(), count];
  return { answers: [first, await ask()], stored: await storedIn(memory), onceEach };
}

/** Four turns of a client that sends its whole history with each question. */
async function wholeHistory(client: Client, hasIds: boolean) {
  const memory = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 4 }) });
  const held: BaseMessage[] = [];
  const plain = ({ type, text }: BaseMessage) => (type === "human" ? human(text) : ai(text));
  for (const question of ["q1", "q2", "q3", "q4"]) {
    held.push(human(question, question));
    held.push(await client.ask(memory, hasIds ? held : held.map(plain)));
  }
  return { stored: (await storedIn(memory)).join(" "), sent: client.sent.join(" ") };
}

/** Two runs of one turn on two instances, whose model answers neither before both have asked. */
async function atOnce(client: Client) {
  const memories = instances();
  let [asked, release] = [0, () => undefined as void];
  const bothAsked = new Promise<void>((resolve) => (release = resolve));
  client.meanwhile = async () => ((asked += 1) === 2 ? release() : bothAsked);
  const run = (memory: RedisChatMemory) => client.say(memory, [human("q")], { turnId: "t", oneTurnAtATime: false });
  const answers = await Promise.all(memories.map(run));
  const [question, answer, ...more] = await storedIn(memories[0]);
  return { question, more: more.length, isStoredAnswer: answers.every((text) => text === answer) };
}

const everyTime = "Be kind. q1 a1 Be kind. q2 a2";
const allOnce = "q1 a1 q2 a2 q3 a3 q4 a4";
const allEachTime = `q1 a1 q1 a1 q2 a2 q1 a1 q2 a2 q3 a3 ${allOnce}`;
const sentTwice = "q2 a2 q3 a3 q1 a1 q2 a2 q3 a3 q4";
const greeting = { stored: ["Hello!", "q", "a1"], isValid: true, repaired: 1 };
const asStored = { ...greeting, isValid: false, repaired: 0 };

const promises: readonly Promised[] = [
  {
    promise: "a question with an id that is asked again on another instance has its stored answer",
    find: (client) => askTwice(client, [human("q", "q1"), human("q", "q1")]),
    kept: { answers: ["a1", "a1"], stored: ["q", "a1"], calls: 1, repeated: 1 },
    but: {
      "a HistoryManager": { ...askedAgain, stored: ["q", "a1", "q", "a2"] },
      RunnableWithMessageHistory: { ...askedAgain, stored: ["q", "a1", "a2"] },
      "a plain append": { ...askedAgain, stored: ["q", "a1", "a2"] },
    },
  },
  {
    promise: "a turn with a name that is asked again on another instance in other words has its stored answer",
    find: (client) => askTwice(client, [human("q"), human("q, please")], "t"),
    kept: { answers: ["a1", "a1"], stored: ["q", "a1"], calls: 1, repeated: 1 },
    but: {
      RunnableWithMessageHistory: { ...askedAgain, stored: ["q", "a1", "q, please", "a2"] },
      "a plain append": { ...askedAgain, stored: ["q", "a1"], repeated: 1 },
    },
  },
  {
    promise: "a turn with a name that is asked again behind reductions has its stored answer",
    find: (client) => retryReduced(client, "keep"),
    kept: { isTold: true, isStoredAgain: false },
    but: {
      RunnableWithMessageHistory: { isTold: false, isStoredAgain: true },
      "a plain append": { isTold: false, isStoredAgain: false },
    },
  },
  {
    promise: "a turn with a name that is asked again where retention discarded it is not stored again",
    find: (client) => retryReduced(client, "discard"),
    kept: { isTold: false, isStoredAgain: false },
    but: { RunnableWithMessageHistory: { isTold: false, isStoredAgain: true } },
  },
  {
    promise: "a stored turn whose records Redis evicted is refused as damaged, and no model is called without it",
    find: (client) => askEvicted(client, "error"),
    kept: { answer: "damaged", calls: 1 },
    but: never,
  },
  {
    promise: "a stored turn whose records Redis evicted is run anew where damaged sessions are to be rebuilt",
    find: (client) => askEvicted(client, "rebuild"),
    kept: { answer: "a2", calls: 2 },
    but: never,
  },
  {
    promise: "a question whose id comes again is a retry with the same text, and a conflict with another one",
    find: (client) => askEdited(client),
    kept: { answers: ["a1", "a1", "a1", "content"], stored: ["one", "a1"], kept: false },
    but: never,
  },
  {
    promise: "a question whose id comes again with another text is a conflict also with a name, or without an answer",
    find: async (client) => {
      const memory = newMemory();
      await memory.history("s").append([human("one", "q1")]);
      const ask = (text: string, id: string, turnId?: string) =>
        client.say(memory, [human(text, id)], { turnId }).catch(codeOf);
      const answers = [await ask("two", "q1"), await ask("one", "q1")];
      return [...answers, await ask("three", "q2", "t"), await ask("four", "q2", "t"), ...(await storedIn(memory))];
    },
    kept: ["content", "a1", "a2", "content", "one", "a1", "three", "a2"],
    but: never,
  },
  {
    promise: "a question whose id comes again with another text has the stored answer with onConflict: keep",
    find: (client) => askEdited(client, { onConflict: "keep" }),
    kept: { answers: ["a1", "a1", "a1", "a1"], stored: ["one", "a1"], kept: true },
    but: never,
  },
  {
    promise: "what beforeStore makes of each message is stored, and given to a retry",
    find: askRedacted,
    kept: { answers: ["a1", "a#"], stored: ["card ####", "a#"], onceEach: 2 },
    but: {
      RunnableWithMessageHistory: { answers: ["a1", "a2"], stored: ["card ####", "a#", "a#"], onceEach: 2 },
      "a plain append": { answers: ["a1", "a2"], stored: ["card ####", "a#"], onceEach: 2 },
    },
  },
  {
    promise: "a turn that two instances run at the same time is stored once, and both give that answer",
    find: atOnce,
    kept: { question: "q", more: 0, isStoredAnswer: true },
    but: {
      "a HistoryManager": { question: "q", more: 0, isStoredAnswer: false },
      RunnableWithMessageHistory: { question: "q", more: 2, isStoredAnswer: false },
      "a plain append": { question: "q", more: 0, isStoredAnswer: false },
    },
  },
  {
    promise: "a turn of which three runs wait for each other costs the model one call",
    find: async (client) => {
      const memory = newMemory();
      const answers = [1, 2, 3].map(() => client.say(memory, [human("q")], { turnId: "t" }));
      return { answers: await Promise.all(answers), calls: client.model.sent.length };
    },
    kept: { answers: ["a1", "a1", "a1"], calls: 1 },
    but: never,
  },
  {
    promise: "a whole history with ids adds only what is new, and the model sees the view and that",
    find: (client) => wholeHistory(client, true),
    kept: { stored: allOnce, sent: "q2 a2 q3 a3 q4" },
    but: {
      "a HistoryManager": impossible,
      RunnableWithMessageHistory: { stored: allOnce, sent: sentTwice },
      "a plain append": { stored: allOnce, sent: sentTwice },
    },
  },
  {
    promise: "a whole history without ids adds only what is new, and the model sees the view and that",
    find: (client) => wholeHistory(client, false),
    kept: { stored: allOnce, sent: "q2 a2 q3 a3 q4" },
    but: {
      "a HistoryManager": impossible,
      RunnableWithMessageHistory: { stored: allEachTime, sent: sentTwice },
      "a plain append": { stored: allEachTime, sent: sentTwice },
    },
  },
  {
    promise: "a run that fails leaves its question or nothing, and the turn is stored once when it is tried again",
    find: async (client) => {
      const memory = newMemory();
      client.isDown = true;
      await expect(client.ask(memory, [human("q")], { turnId: "t" })).rejects.toThrow("down");
      const failed = await storedIn(memory);
      client.isDown = false;
      await client.ask(memory, [human("q")], { turnId: "t" });
      return { failed, stored: await storedIn(memory) };
    },
    kept: { failed: [], stored: ["q", "a1"] },
    but: {
      "a chain (step)": { failed: ["q"], stored: ["q", "a1"] },
      "an agent (step)": { failed: ["q"], stored: ["q", "a1"] },
    },
  },
  {
    promise: "a second writer during the model's call loses nothing, and neither does the turn",
    find: async (client) => {
      const memory = newMemory();
      client.meanwhile = () => memory.history("s").append([human("other"), ai("theirs")]);
      await client.ask(memory, [human("q")]);
      return storedIn(memory);
    },
    kept: ["other", "theirs", "q", "a1"],
    but: {
      "a chain (step)": ["q", "other", "theirs", "a1"],
      "an agent (step)": ["q", "other", "theirs", "a1"],
    },
  },
  {
    promise: "a stored greeting goes to the model as the profile needs it, which is reported once",
    find: async (client) => {
      const memory = newMemory({ profile: "anthropic" });
      await memory.history("s").append([ai("Hello!")]);
      await client.ask(memory, [human("q")]);
      const issues = validateConversation(client.model.sent[0]!, { profile: "anthropic", purpose: "model-input" });
      return { stored: await storedIn(memory), isValid: issues.length === 0, repaired: countOf("repaired") };
    },
    kept: greeting,
    but: { RunnableWithMessageHistory: asStored, "a plain append": asStored },
  },
  {
    promise: "a system message that comes with each turn is sent and stored once, at the front",
    find: async (client) => {
      const memory = newMemory({ profile: "anthropic" });
      for (const question of ["q1", "q2"]) {
        await client.ask(memory, [system("Be kind."), human(question)]);
      }
      return { sent: client.sent.join(" "), stored: (await storedIn(memory)).join(" ") };
    },
    kept: { sent: "Be kind. q1 a1 q2", stored: "Be kind. q1 a1 q2 a2" },
    but: {
      "a HistoryManager": { sent: "Be kind. q1 a1 q2", stored: "q1 a1 q2 a2" },
      RunnableWithMessageHistory: { sent: "Be kind. q1 a1 Be kind. q2", stored: everyTime },
      "a plain append": { sent: "Be kind. q1 a1 Be kind. q2", stored: everyTime },
    },
  },
  {
    promise: "a turn that cannot be stored rejects",
    find: async (client) => {
      const memory = newMemory({ redis: { keyPrefix: uniquePrefix(), limits: { maxAppendBytes: 1 } } });
      // LangChain prints the error: with `error` before version 1.4, with `warn` since.
      const silenced = (["error", "warn"] as const).map((method) => jest.spyOn(console, method).mockImplementation());
      const outcome = await client.say(memory, [human("q")]).catch(codeOf);
      silenced.forEach((spy) => spy.mockRestore());
      return outcome;
    },
    kept: "too_large",
    but: { RunnableWithMessageHistory: "a1" },
  },
  {
    promise: "runs of twenty sessions at once are kept apart",
    find: async (client) => {
      const memory = newMemory();
      const ids = Array.from({ length: 20 }, (_, index) => `s${index}`);
      const answers = await Promise.all(ids.map((id) => client.say(memory, [human(id)], { sessionId: id })));
      const stored = await Promise.all(ids.map((id) => storedIn(memory, id)));
      return stored.every(([question, answer], index) => question === ids[index] && answer === answers[index]);
    },
    kept: true,
  },
];

const cells = promises.flatMap(({ promise, find, kept, but }) =>
  (Object.keys(doors) as DoorName[])
    .map((door) => [promise, door, find, but !== undefined && door in but ? but[door] : kept] as const)
    .filter(([, , , found]) => found !== impossible),
);

describe("a promise of a turn", () => {
  it.each(cells)("%s: %s", async (_, door, find, found) => {
    expect(await find(new Client(door), door)).toEqual(found);
  });
});
