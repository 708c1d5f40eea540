import { ownerMark, ownerMarkIn, withOwnerMark } from "../../src/store/contract/append-decision.js";

const marked = (owner: string, data: object = {}) =>
  JSON.stringify({ type: "human", data, meta: { v: 1, owner: ownerMark(owner) } });

describe("the owner's mark of a record", () => {
  it("is read at the end of its first line only", () => {
    expect(ownerMark("ann")).toMatch(/^[0-9a-f]{12}$/);
    expect(ownerMarkIn(marked("ann"))).toBe(ownerMark("ann"));
    expect(ownerMarkIn(`${marked("ann")}\n${marked("bob")}`)).toBe(ownerMark("ann"));
    expect(ownerMarkIn(`${marked("ann")} `)).toBeUndefined();
    expect(ownerMarkIn(`{"type":"ai"}\n${marked("bob")}`)).toBeUndefined();
    expect(ownerMarkIn(`\n${marked("bob")}`)).toBeUndefined();
    expect(ownerMarkIn("")).toBeUndefined();
  });

  it("is no text that a message's data hold", () => {
    const data = { a: { owner: ownerMark("ann") } };
    expect(JSON.stringify({ data })).toContain(`"owner":"${ownerMark("ann")}"}}`);
    expect(ownerMarkIn(JSON.stringify({ data, meta: { v: 1 } }))).toBeUndefined();
    expect(ownerMarkIn(marked("bob", data))).toBe(ownerMark("bob"));
  });

  it("is replaced alone, and never added", () => {
    const data = { a: { owner: ownerMark("ann") } };
    expect(withOwnerMark(marked("ann", data), "bob")).toBe(marked("bob", data));
    const unmarked = JSON.stringify({ type: "ai", data, meta: { v: 1 } });
    expect(withOwnerMark(unmarked, "bob")).toBe(unmarked);
  });
});
