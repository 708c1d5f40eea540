import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
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
    expect(await edit()).toMatchObject({ appended: 0, duplicates: 2, next: 4 });
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
});
