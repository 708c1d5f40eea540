import { messageIdOf } from "../../src/store/codec/encode-message.js";
import { human } from "../support/messages.js";

describe("the id of a message", () => {
  it("is its own if it has one, whatever the turn", () => {
    expect(messageIdOf(human("x", "own"), { turnId: "t", index: 3 })).toBe("own");
  });

  it.each([undefined, ""])("is generated if it is %p, and stays the same for the same object", (id) => {
    const message = Object.freeze(human("x", id));
    const first = messageIdOf(message);
    expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(messageIdOf(message, { index: 9 })).toBe(first);
    expect(message.id).toBe(id);
  });

  it("differs for another object with the same text", () => {
    expect(messageIdOf(human("x"))).not.toBe(messageIdOf(human("x")));
  });

  it("is made of turn and index if the turn has an id, so that another process makes the same", () => {
    const message = human("x");
    messageIdOf(message);
    expect([
      messageIdOf(message, { turnId: "job-1", index: 0 }),
      messageIdOf(human("y"), { turnId: "job-1", index: 1 }),
    ]).toEqual(["job-1-0", "job-1-1"]);
  });

  it("is greater than every id before, within a millisecond and when the clock is set back", () => {
    let time = Date.now() + 3_600_000;
    const clock = jest.spyOn(Date, "now").mockImplementation(() => time);
    const made = Array.from({ length: 10_000 }, () => messageIdOf(human("x")));
    time -= 60_000;
    made.push(...Array.from({ length: 10 }, () => messageIdOf(human("x"))));
    time += 120_000;
    made.push(messageIdOf(human("x")));
    clock.mockRestore();
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
    expect(Number.parseInt(made.at(-1)!.replace("-", "").slice(0, 12), 16)).toBe(time);
  });
});
