import * as fc from "fast-check";
import { fittingColumns, gap, type Column } from "../../cli/fitting-columns.js";

type Sized = Column & { readonly width: number };

const session: Sized = { title: "session", width: 36, cut: { order: 2, least: 16 } };
const owner: Sized = { title: "owner", width: 30, cut: { order: 1, least: 8 } };
const messages: Sized = { title: "messages", width: 8 };
const tokens: Sized = { title: "tokens", width: 7, isSpare: true };
const expires: Sized = { title: "expires in", width: 10, isSpare: true };

const totalOf = (columns: readonly Sized[]) => columns.reduce((sum, { width }) => sum + width + gap, -gap);
const sized = (columns: readonly Sized[], limit: number) =>
  fittingColumns(columns, limit).map(({ title, width }) => [title, width]);

describe("The columns of a table", () => {
  it("are as wide as their text where there is room", () => {
    expect(fittingColumns([session, owner, messages], 78)).toEqual([session, owner, messages]);
  });

  it("are cut the owner before the id, and no further than needed", () => {
    const [id, name] = sized([session, owner, messages], 60);
    expect([id, name]).toEqual([
      ["session", 36],
      ["owner", 12],
    ]);
    expect(sized([session, owner, messages], 50).slice(0, 2)).toEqual([
      ["session", 30],
      ["owner", 8],
    ]);
  });

  it("go from the last spare one on where cutting is not enough", () => {
    const titles = (limit: number) => sized([session, owner, messages, tokens, expires], limit).map(([title]) => title);
    expect(titles(57)).toEqual(["session", "owner", "messages", "tokens", "expires in"]);
    expect(titles(56)).toEqual(["session", "owner", "messages", "tokens"]);
    expect(titles(44)).toEqual(["session", "owner", "messages"]);
  });

  it("never take more than the terminal has", () => {
    const column = fc.record({
      title: fc.constant("x"),
      width: fc.integer({ min: 0, max: 200 }),
      isSpare: fc.boolean(),
      cut: fc.record({ order: fc.integer({ min: 1, max: 2 }), least: fc.integer({ min: 1, max: 40 }) }),
    });
    fc.assert(
      fc.property(fc.array(column, { maxLength: 8 }), fc.integer({ min: 1, max: 200 }), (columns, limit) => {
        expect(totalOf(fittingColumns(columns, limit))).toBeLessThanOrEqual(limit);
      }),
    );
  });
});
