import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ServerClock } from "../../src/memory/session/append-turn.js";
import { human } from "../support/messages.js";

afterEach(() => void jest.restoreAllMocks());

/** A clock of a process whose own says 1,000, after replies with the server's time to requests sent at `sent`. */
function after(...replies: readonly (readonly [time: number | undefined, sent: number])[]): ServerClock {
  jest.spyOn(Date, "now").mockReturnValue(1_000);
  const clock = new ServerClock();
  replies.forEach(([time, sent]) => clock.note(time, sent));
  return clock;
}

describe("a process's estimate of the server's clock", () => {
  it("is its own clock until a reply tells the time", () => {
    for (const clock of [after(), after([undefined, 900])]) {
      expect([clock.isKnown, clock.now()]).toEqual([false, 1_000]);
    }
    expect(after([6_000, 900]).isKnown).toBe(true);
  });

  it.each([
    ["of a server ahead is the least that fits", [[6_000, 900]], 6_000],
    ["of a server behind is the most that fits", [[500, 900]], 601],
    [
      "moves with a quick reply",
      [
        [6_000, 900],
        [6_050, 1_000],
      ],
      6_050,
    ],
    [
      "moves back with a quick reply",
      [
        [6_000, 900],
        [5_000, 1_000],
      ],
      5_001,
    ],
    [
      "stays with a slow reply that it fits",
      [
        [6_050, 1_000],
        [6_010, 500],
      ],
      6_050,
    ],
    [
      "stays where a reply tells nothing",
      [
        [6_000, 900],
        [undefined, 1_000],
      ],
      6_000,
    ],
  ] as const)("%s", (_, replies, now) => {
    expect(after(...replies).now()).toBe(now);
  });
});

it("a clock that is off by less than a store refuses is right from the second write on", async () => {
  const now = () => Date.now() + 20_000;
  const history = new RedisChatMemory({ store: new InMemorySessionStore({ now }) }).history("s");
  await history.addMessages([human("q")]);
  await history.addMessages([human("q")]);
  const { items } = await history.getPage();
  expect(items.map(({ at }) => Math.abs(at! - now()) > 10_000)).toEqual([true, false]);
});
