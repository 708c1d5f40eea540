import { randomBytes } from "node:crypto";
import type { FoundInSession, FoundSessions } from "../../cli/inspector/model/data.js";
import { get, inspectedPlaces } from "../support/inspectors.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";

const place = inspectedPlaces();
const key = randomBytes(32);

describe("the inspector's search in messages", () => {
  it("finds text, results and arguments of a session in any case, and all of a long one part by part", async () => {
    const { ask, memory, inspector } = await place();
    const said = [
      human("To Oslo, please"),
      aiCalls("OSLO-1"),
      tool("OSLO-1", "no train"),
      ai("Bergen?"),
      human("oslo!"),
    ];
    await memory().history("s").addMessages(said);
    const find = (text: string) => ask<FoundInSession>("find", { id: "s", text });
    expect(await find("oslo")).toEqual({ positions: [0, 1, 4] });
    expect(await find("NO TRAIN")).toEqual({ positions: [2] });
    expect(await find("nothing")).toEqual({ positions: [] });
    const history = memory().history("long");
    await history.addMessages(Array.from({ length: 3_000 }, (_, index) => human(`text ${index}`)));
    const positions: number[] = [];
    for (let from: number | undefined = 0; from !== undefined;) {
      const part: FoundInSession = await ask<FoundInSession>("find", { id: "long", text: "text", from });
      positions.push(...part.positions);
      from = part.next;
    }
    expect(positions).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
    expect((await get(`${inspector.url}api/find?id=s&text=%20`)).status).toBe(400);
  });

  it("finds sessions by their messages, also encrypted ones, by id, and goes on where it stopped", async () => {
    const { ask, memory } = await place({ LANGCHAIN_REDIS_MEMORY_KEYS: `k:${key.toString("base64")}` });
    const encryption = { current: { id: "k", key: new Uint8Array(key) } };
    for (let index = 0; index < 22; index += 1) {
      await memory()
        .history(`s-${index}`)
        .addMessages([human("about trains"), ai("yes")]);
    }
    const sealed = memory({ encryption }).history("a-sealed", { title: "Secret" });
    await sealed.addMessages([human("more about trains")]);
    const first = await ask<FoundSessions>("search", { text: "TRAINS" });
    expect(first.sessions).toHaveLength(20);
    expect(first.sessions.find(({ sessionId }) => sessionId === "a-sealed")).toEqual({
      ...{ sessionId: "a-sealed", title: "Secret", position: 0 },
    });
    const second = await ask<FoundSessions>("search", { text: "TRAINS", cursor: first.next! });
    expect([second.sessions.length, second.next]).toEqual([3, undefined]);
    expect((await ask<FoundSessions>("search", { text: "planes" })).sessions).toEqual([]);
  });
});
