import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { positionsIn, rangesText } from "../../src/langgraph/checkpoint/item-ranges.js";
import { ItemParser, reviveValue } from "../../src/langgraph/checkpoint/revive-value.js";
import { referenceKey } from "../../src/langgraph/checkpoint/split-value.js";

const missing = new Error("no such item");
const textsOf = (items: readonly string[]) => (position: number) => {
  if (items[position] === undefined) {
    throw missing;
  }
  return items[position];
};

describe("An item that several checkpoints of a list share", () => {
  it("is equal for each, and each one's own", () => {
    const property = fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify({ value, list: [[{}]], ["__proto__"]: { inner: {} } });
      const items = new ItemParser();
      const read = [1, 2, 3].map(() => items.parse(7, text).json as { value: unknown; list: [[object]] });
      const objects = read.flatMap((one) => [one, one.list, one.list[0][0], Object.values(one).at(-1)]);
      expect(new Set(objects).size).toBe(objects.length);
      read.forEach((one) => expect(JSON.stringify(one)).toBe(text));
      expect(items.parse(7, '"another"').json).toBe("another");
    });
    fc.assert(property, { numRuns: 50 });
  });
});

describe("Positions in a damaged checkpoint record", () => {
  it("end at the first item that is not there, however long the range", async () => {
    const items = new ItemParser();
    const source = { serde: new JsonPlusSerializer(), textAt: textsOf(['"a"', '"b"']), items };
    const value = (l: string) => reviveValue({ [referenceKey]: { l } }, 0, source);
    await expect(value("0-1")).resolves.toEqual(["a", "b"]);
    await expect(value("0-99999999999999999999")).rejects.toBe(missing);
    await expect(value("@0-99999999999999999999")).rejects.toBe(missing);
  });

  it("are not followed from item to item", () => {
    expect([...positionsIn("@0", 0, textsOf(["@0,@0,1"]))]).toEqual([0, 0, 1]);
  });

  it("are what was written, in groups too", () => {
    const positions = Array.from({ length: 200 }, (_, at) => at * 2);
    const items: string[] = [];
    const text = rangesText(positions, (item) => items.push(item) - 1);
    expect([...positionsIn(text, 0, textsOf(items))]).toEqual(positions);
  });
});
