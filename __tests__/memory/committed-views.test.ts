import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import { identifyRecord } from "../../src/store/codec/stored-record.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { ai, human, system, tool } from "../support/messages.js";
import { characters, idsOf, turn } from "../support/numbered-turns.js";
import { testKeys } from "../support/test-keys.js";

type Reduced = (messages: BaseMessage[]) => BaseMessage[] | null | Promise<BaseMessage[] | null>;

/** Reduces as the test says. */
class Given extends ChatHistoryReducer {
  override lc_namespace = ["test"];

  constructor(
    readonly reduced: Reduced,
    override readonly tokenCounter: TokenCounter | undefined,
  ) {
    super();
  }

  override async reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    return this.reduced(messages);
  }
}

const rules = () => {
  const message = system("Be brief.");
  message.id = "rules";
  return message;
};

let store: InMemorySessionStore;
let events: MemoryEvent[];
beforeEach(() => {
  store = new InMemorySessionStore();
  events = [];
});

function historyWith(reduced: Reduced, options: MemorySettings = {}) {
  const onEvent = (event: MemoryEvent) => events.push(event);
  const reducer = new Given(reduced, options.tokenCounter);
  return new RedisChatMemory({ store, reducer, reduceWhen: "never", onEvent, ...options }).history("s");
}
const committed = async () => {
  const { start, head, headCount } = await store.readView({ id: "s" });
  return { start, headCount, head: head === "" ? [] : (JSON.parse(head) as { data: { id?: string } }[]) };
};

describe("the view that a reduction commits", () => {
  it("keeps records of other packages in the head as they are, also without an id", async () => {
    const foreign = ["one", "two"].map((content) => JSON.stringify({ type: "human", data: { content, custom: 1 } }));
    const records = foreign.map((record) => ({ ...identifyRecord(record)!, record }));
    await store.append({ id: "s" }, { records });
    await historyWith(([first, second]) => [second!, first!]).reduceView();
    expect((await store.readView({ id: "s" })).head).toBe(`[${foreign[1]},${foreign[0]}]`);
  });

  it("shows a question that stands in front of the answer to an earlier one", async () => {
    const history = historyWith((messages) => messages.slice(1));
    await history.addMessages([human("q1", "q1")]);
    await history.addMessages([human("q2", "q2")]);
    await history.append([ai("a1", { id: "a1" })], { turnId: "q1" });
    await history.append([ai("a2", { id: "a2" })], { turnId: "q2" });
    expect(idsOf(await history.getMessages())).toEqual(["q1", "a1", "q2", "a2"]);
    await history.reduceView();
    expect(idsOf(await history.getMessages())).toEqual(["a1", "q2", "a2"]);
  });

  it("begins with what the provider compacted, also where the reducer has nothing to do", async () => {
    const compacted = new AIMessage({
      id: "a2",
      content: [{ type: "compaction", content: "They talked." } as never, { type: "text", text: "a2" }],
      response_metadata: { model_provider: "anthropic" },
    });
    const history = historyWith(() => null);
    await history.addMessages([...turn(1), human("q2", "q2"), compacted, ...turn(3)]);
    await history.reduceView();
    expect(await committed()).toMatchObject({ start: 3, headCount: 0 });
  });

  it("is counted with the messages that the reducer changed", async () => {
    const shortened = ([first, ...rest]: BaseMessage[]) => [human("short", first!.id), ...rest];
    const history = historyWith(shortened, { tokenCounter: characters });
    await history.addMessages([human("a long question", "q1"), ai("answer", { id: "a1" })]);
    await history.reduceView();
    expect(await history.stats()).toMatchObject({ messages: 2, view: { messages: 2, tokens: "shortanswer".length } });
  });

  it("is counted with the messages that the reducer moved into the head as they were", async () => {
    const history = historyWith(([first, , third]) => [first!, third!], { tokenCounter: characters });
    await history.addMessages([human("question", "q1"), ai("answer", { id: "a1" }), human("later", "q2")]);
    await history.reduceView();
    expect((await history.stats()).view).toEqual({ messages: 2, tokens: "questionlater".length });
  });

  it("is measured by what each message of the head has, however often", async () => {
    const changed = (messages: BaseMessage[]) => messages.map(({ id }) => human(`changed ${"x".repeat(+id!)}`, id));
    const uncounted = historyWith(changed);
    await uncounted.addMessages([human("one", "1"), human("two", "20")]);
    await uncounted.reduceView();
    const history = historyWith(() => null, { tokenCounter: characters });
    for (let time = 0; time < 2; time += 1) {
      expect((await history.reduceView()).before).toEqual({ messages: 2, tokens: 2 * "changed ".length + 21 });
    }
  });

  it.each([{}, { encryption: testKeys("k1") }])("stays after a rebuild, with %j", async (options) => {
    const history = historyWith((messages) => [rules(), ...messages.slice(-1)], options);
    await history.addMessages(turn(1));
    await history.reduceView();
    await history.rebuild();
    expect(idsOf(await history.getMessages())).toEqual(["rules", "a1"]);
  });

  it("splits no step: the error names the rule", async () => {
    const history = historyWith((messages) => messages.slice(1));
    await history.addMessages([ai("", { calls: ["c1"] }), tool("c1"), ai("done")]);
    await expect(history.reduceView()).rejects.toMatchObject({ name: "StructureError", issues: [{ rule: "S08" }] });
  });
});

describe("a reduction", () => {
  it.each<[string, Reduced]>([
    ["has nothing to do", () => null],
    ["returns the same", (messages) => [...messages]],
  ])("that %s reports nothing", async (_, reduced) => {
    const history = historyWith(reduced);
    await history.addMessages(turn(1));
    await history.reduceView();
    expect(events).toEqual([]);
  });

  it("that loses its race after a write says so", async () => {
    const history = historyWith((messages) => messages.slice(-1), { reduceWhen: "always" });
    Object.assign(store, { commitReduction: async () => "stale" });
    await history.addMessages(turn(1));
    expect(events).toEqual([{ type: "reduction_stale", sessionId: "s" }]);
  });
});

describe("a reduction that discards", () => {
  const latest = (messages: BaseMessage[]) => messages.slice(-2);
  const discarding = { retention: "discard" as const };

  it("removes what an earlier one left in the log, and knows all ids", async () => {
    const keeping = historyWith(latest);
    await keeping.addMessages([...turn(1), ...turn(2)]);
    await keeping.reduceView();
    const history = historyWith(latest, discarding);
    await history.addMessages(turn(3));
    await history.reduceView();
    expect(idsOf(await history.getTranscript())).toEqual(["q3", "a3"]);
    await expect(history.append([...turn(1), ...turn(3)])).resolves.toMatchObject({ appended: 0, duplicates: 4 });
  });

  it("removes records that it cannot read", async () => {
    const history = historyWith((messages) => messages.slice(-1), discarding);
    await history.addMessages(turn(1));
    await store.append({ id: "s" }, { records: [{ id: "x", digest: "xxxxxxxx", record: "no record" }] });
    await history.addMessages(turn(2));
    await history.reduceView();
    expect(idsOf(await history.getTranscript())).toEqual(["a2"]);
    await expect(history.append(turn(1))).resolves.toMatchObject({ appended: 0 });
  });

  it("knows the messages that it moved into the head, also when they have left it", async () => {
    const history = historyWith(([first, ...rest]) => [first!, ...rest.slice(-1)], discarding);
    await history.addMessages([rules(), ...turn(1)]);
    await history.reduceView();
    expect(idsOf(await history.getTranscript())).toEqual(["a1"]);
    await expect(history.append([rules()])).resolves.toMatchObject({ appended: 0, duplicates: 1 });
    await historyWith((messages) => messages.slice(1), discarding).reduceView();
    await expect(history.append([rules()])).resolves.toMatchObject({ appended: 0, duplicates: 1 });
  });
});
