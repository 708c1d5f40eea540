import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { positionsIn, rangesText, referenceKey } from "../../src/langgraph/checkpoint/split-value.js";
import { reviveValue } from "../../src/langgraph/checkpoint/revive-value.js";

const missing = new Error("no such item");
const textsOf = (items: readonly string[]) => (position: number) => {
  if (items[position] === undefined) {
    throw missing;
  }
  return items[position];
};

describe("Positions in a damaged checkpoint record", () => {
  it("end at the first item that is not there, however long the range", async () => {
    const source = { serde: new JsonPlusSerializer(), textAt: textsOf(['"a"', '"b"']) };
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
