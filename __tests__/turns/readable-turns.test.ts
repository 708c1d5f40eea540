import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory, sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { summaryMessage, summaryText } from "../../src/conversation/messages/summary-message.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { openTurn } from "../../src/memory/turns/open-turn.js";
import { readableTurn } from "../../src/memory/turns/commit-reduced.js";
import { ai, human, system } from "../support/messages.js";

const item = { type: "compaction", id: "cmp_1", encrypted_content: "gAAAA-sealed==" };
/** An answer with a compaction that only OpenAI reads, or only Anthropic; the text of the latter is readable. */
const sealed = (text: string) =>
  new AIMessage({
    id: text,
    content: text === "" ? "" : [{ type: "text", text }],
    response_metadata: { model_provider: "openai", output: [item] },
  });
const readable = (text: string) =>
  new AIMessage({
    id: text,
    content: [{ type: "compaction", content: "They talked." } as never, { type: "text", text }],
    response_metadata: { model_provider: "anthropic" },
  });
const summary = summaryMessage("What was said.", { id: "m", role: "system", source: { replaced: [], covered: [] } });

/** Keeps these messages, and puts a summary before them. */
class Keeping extends ChatHistoryReducer {
  override lc_namespace = ["test"];

  constructor(readonly kept: readonly string[]) {
    super();
  }

  override async reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    const left = messages.filter(({ id }) => this.kept.includes(id!));
    return left.length === messages.length ? null : [summary, ...left.filter(({ id }) => id !== summary.id)];
  }
}

const early = [
  system("Be brief."),
  human("q1", "q1"),
  ai("a1", { id: "a1" }),
  human("q2", "q2"),
  ai("a2", { id: "a2" }),
];
early[0]!.id = "s";
const words = (messages: readonly BaseMessage[]) => messages.map(summaryText);

interface Scene {
  readonly kept?: readonly string[];
  readonly retention?: "keep" | "discard";
  readonly messages?: readonly BaseMessage[];
  readonly reduceWhen?: "never";
}

/** A session that these messages were stored in, with the scene's reducer then and later. */
async function sessionWith(
  { kept, retention = "keep", messages = early, reduceWhen }: Scene,
  stored: readonly BaseMessage[] = [],
) {
  const options = { sessionId: "s", store: new InMemorySessionStore(), retention };
  const reducing = { ...options, ...(kept && { reducer: new Keeping(kept) }), ...(reduceWhen && { reduceWhen }) };
  const history = new RedisChatMessageHistory(reducing);
  await history.addMessages([...messages]);
  await new RedisChatMessageHistory(options).addMessages([...stored]);
  return { history, session: sessionOf("test", history) };
}

describe("a turn behind a compaction that only another provider can read", () => {
  it.each<[string, Scene, BaseMessage, readonly string[]]>([
    ["is told the transcript", {}, sealed("noon"), ["Be brief.", "q1", "a1", "q2", "a2", "noon"]],
    ["is told nothing of what said nothing beside it", {}, sealed(""), ["Be brief.", "q1", "a1", "q2", "a2"]],
    [
      "is told the transcript in place of a summary, and no copy of a message twice",
      { kept: ["s", "a2", "noon"] },
      sealed("noon"),
      ["Be brief.", "q1", "a1", "q2", "a2", "noon"],
    ],
    [
      "is told the summary and the copies of what was discarded",
      { kept: ["s", "a2", "noon"], retention: "discard" },
      sealed("noon"),
      ["What was said.", "Be brief.", "a2", "noon"],
    ],
    [
      "is told all from an older compaction that can be read",
      { messages: [...early, readable("midday"), human("q3", "q3")] },
      sealed("noon"),
      ["Be brief.", "midday", "q3", "noon"],
    ],
  ])("%s", async (_, scene, answer, told) => {
    const { session } = await sessionWith(scene, [answer]);
    const opened = await openTurn({ session, turnId: undefined, input: [human("And now?", "now")] });
    const { history: before } = await readableTurn(session, opened, "anthropic");
    expect(words(before)).toEqual(told);
    expect(JSON.stringify(before)).not.toContain("sealed");
  });

  it("is told what a third provider can read of none as it is stored, where that is text", async () => {
    const { session } = await sessionWith({ messages: [...early, readable("midday"), human("q3", "q3")] }, [
      sealed("noon"),
    ]);
    const opened = await openTurn({ session, turnId: undefined, input: [human("And now?", "now")] });
    const { history: before } = await readableTurn(session, opened, "google");
    expect(words(before)).toEqual(["Be brief.", "midday", "q3", "noon"]);
    expect(JSON.stringify(before)).toContain("They talked.");
  });

  it("is told what a reducer wrote beside the transcript that is no summary", async () => {
    const store = new InMemorySessionStore();
    const note = system("Noted.");
    const reducing = { sessionId: "s", store, reducer: (messages: BaseMessage[]) => [note, ...messages.slice(-1)] };
    await new RedisChatMessageHistory(reducing).addMessages(early);
    const history = new RedisChatMessageHistory({ sessionId: "s", store });
    await history.addMessages([sealed("noon")]);
    const session = sessionOf("test", history);
    const opened = await openTurn({ session, turnId: undefined, input: [human("And now?", "now")] });
    const { history: before } = await readableTurn(session, opened, "anthropic");
    expect(words(before)).toEqual(["Noted.", "Be brief.", "q1", "a1", "q2", "a2", "noon"]);
  });

  it("is told nothing twice of what is stored of itself", async () => {
    const { history, session } = await sessionWith({ messages: [...early, sealed("noon")] });
    const question = human("And now?", "now");
    await history.append([question], { turnId: "t" });
    const opened = await openTurn({ session, turnId: "t", input: [question] });
    const { history: before, turn } = await readableTurn(session, opened, "anthropic");
    expect([words(before).slice(-2), words(turn)]).toEqual([["a2", "noon"], ["And now?"]]);
  });

  it.each([
    ["openai-responses", sealed("noon")],
    ["openai-responses", readable("noon")],
    ["anthropic", readable("noon")],
    [undefined, sealed("noon")],
  ] as const)("is left as it is for %s where it can be read: %#", async (adapter, answer) => {
    const { session } = await sessionWith({ messages: [...early, answer] });
    const opened = await openTurn({ session, turnId: undefined, input: [human("And now?", "now")] });
    expect(await readableTurn(session, opened, adapter)).toBe(opened);
  });
});
