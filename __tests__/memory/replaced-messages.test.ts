import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ai, human } from "../support/messages.js";

const newHistory = () => new RedisChatMemory({ store: new InMemorySessionStore() }).history("s");
const turn = (index: number) => [human(`q${index}`, `q${index}`), ai(`a${index}`, { id: `a${index}` })];
const texts = async (history: ReturnType<typeof newHistory>) => (await history.getTranscript()).map(({ text }) => text);

describe("a replacement", () => {
  it("that is sent again with its turn's name is a repetition, also of messages without ids", async () => {
    const history = newHistory();
    await history.addMessages([...turn(1), ...turn(2)]);
    const edit = () => history.replaceFrom("q2", [new HumanMessage("other"), ai("answer")], { turnId: "t" });
    expect(await edit()).toMatchObject({ appended: 2, next: 4 });
    expect(await edit()).toEqual({ appended: 0, duplicates: 2, next: 4, repeated: false });
    expect(await texts(history)).toEqual(["q1", "a1", "other", "answer"]);
  });

  it.each([
    ["ends otherwise", ["q2", "a9"]],
    ["begins otherwise", ["q9", "a2"]],
    ["goes on behind them", ["q1", "a1"]],
    ["goes on by one behind them", ["q1", "a1", "q2"]],
  ])("of a message that there is not is refused where the log %s", async (_, ids) => {
    const history = newHistory();
    await history.addMessages([...turn(1), ...turn(2)]);
    const messages = ids.map((id) => (id.startsWith("q") ? human(id, id) : ai(id, { id })));
    await expect(history.replaceFrom("lost", messages)).rejects.toMatchObject({ code: "unknown_message" });
    expect(await texts(history)).toEqual(["q1", "a1", "q2", "a2"]);
  });

  it("of a part of a turn opens it again, so that a retry stores the rest", async () => {
    const history = newHistory();
    await history.append(turn(1), { turnId: "t1" });
    await history.replaceFrom("a1", [human("and", "q2")]);
    expect(await history.append([human("q1", "q1"), ai("late", { id: "a3" })], { turnId: "t1" })).toMatchObject({
      ...{ appended: 1, repeated: false },
    });
    expect(await texts(history)).toEqual(["q1", "and", "late"]);
  });

  it("is written where the log ends as the caller expects", async () => {
    const history = newHistory();
    await history.addMessages(turn(1));
    await history.replaceFrom("a1", [ai("other", { id: "a2" })], { expectedNext: 2 });
    expect(await texts(history)).toEqual(["q1", "other"]);
  });
});

describe("a rewind", () => {
  it("opens the turn that it cuts, and no other, also behind discarded messages", async () => {
    const store = new InMemorySessionStore();
    const reducer = (messages: BaseMessage[]) => messages.slice(-4);
    const history = new RedisChatMemory({ store, reducer, reduceWhen: "never", retention: "discard" }).history("s");
    for (const index of [1, 2, 3]) {
      await history.append(turn(index), { turnId: `t${index}` });
    }
    await history.reduceView();
    await history.rewind("a3");
    expect(await texts(history)).toEqual(["q2", "a2", "q3"]);
    expect(await history.append(turn(2), { turnId: "t2" })).toMatchObject({ repeated: true, appended: 0 });
    const retry = [human("q3", "q3"), ai("late", { id: "a9" })];
    expect(await history.append(retry, { turnId: "t3" })).toMatchObject({ repeated: false, appended: 1 });
    expect(await texts(history)).toEqual(["q2", "a2", "q3", "late"]);
  });
});
