import { readFileSync } from "node:fs";
import { join } from "node:path";
import { turnEvents } from "./events.js";
import { printedTable, withPrintedTable } from "./printed-table.js";

const page = readFileSync(join(__dirname, "../../../docs/guarantees.md"), "utf8");

describe("the table of events on the page of guarantees", () => {
  it("is what npx tsx tools/scripts/print-turn-table.ts writes", () => {
    expect(withPrintedTable(page)).toBe(page);
  });

  it("has a row for each event, and would be seen to lack one", () => {
    expect(printedTable().split("\n")).toHaveLength(turnEvents.length + 3);
    expect(withPrintedTable(page.replace(/^\| A later turn.*\n/m, ""))).toBe(page);
    expect(() => withPrintedTable("no marks")).toThrow("no marks");
  });
});
