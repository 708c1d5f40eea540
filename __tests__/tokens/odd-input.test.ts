import { HumanMessage } from "@langchain/core/messages";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { referenceCount } from "./reference.js";

describe("a long message of one character or of noise", () => {
  const counter = tiktokenCounter();
  beforeAll(() => counter.ready());
  // Each reading of the clock finds 5 ms gone, so that what counts are steps, not the speed of this machine.
  beforeEach(() => {
    let time = 0;
    jest.spyOn(performance, "now").mockImplementation(() => (time += 5));
  });
  afterEach(() => jest.restoreAllMocks());

  // Multiples of every token that can occur, so that the exact count of the whole follows from js-tiktoken's count of a
  // part.
  it.each([
    ["a", 400_000, 400],
    [" ", 100_000, 640],
    ["1", 400_000, 300],
    ["你", 80_000, 100],
    ["👍", 80_000, 100],
  ])(
    "of %j %i times is counted exactly, and others get their turn meanwhile",
    async (character, times, sampleLength) => {
      const turns = countTurns();
      const counted = await counter.countMessage(new HumanMessage(character.repeat(times)));
      const turnsMeanwhile = turns.stop();
      const sample = referenceCount("o200k_base", character.repeat(sampleLength));
      expect(counted - 4).toBeGreaterThanOrEqual(Math.floor((times * sample) / sampleLength));
      expect(counted - 4).toBeLessThanOrEqual(Math.ceil((times * sample) / sampleLength) + 1);
      expect(turnsMeanwhile).toBeGreaterThan(3);
    },
  );

  it("of random base64 costs what its parts cost, up to the cuts", async () => {
    let seed = 1;
    const bytes = Uint8Array.from({ length: 150_000 }, () => (seed = (seed * 48_271) % 2_147_483_647) >> 8);
    const text = Buffer.from(bytes).toString("base64");
    const turns = countTurns();
    const whole = await counter.countText(text.repeat(5));
    expect(turns.stop()).toBeGreaterThan(3);
    const part = referenceCount("o200k_base", text);
    expect(Math.abs(whole - 5 * part)).toBeLessThanOrEqual(10);
  });
});

/** Counts the turns of the event loop until it is stopped. */
function countTurns(): { stop(): number } {
  let turns = 0;
  let next = setImmediate(count);
  function count(): void {
    turns += 1;
    next = setImmediate(count);
  }
  return {
    stop: () => {
      clearImmediate(next);
      return turns;
    },
  };
}
