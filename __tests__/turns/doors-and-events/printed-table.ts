import { doors, type DoorName } from "./doors.js";
import { deathOfProcess, turnEvents, type TurnEvent } from "./events.js";

/** The marks around the table in docs/guarantees.md. */
export const tableMarks = ["<!-- turn table: begin -->", "<!-- turn table: end -->"] as const;

const header = ["Event", "Stored", "The caller gets", "The next question sends", "Exceptions"];

/** The table of events as Markdown, as it stands between its marks. */
export function printedTable(): string {
  const rows = [...turnEvents, deathOfProcess].map((event) => {
    const { stored, caller, next } = event.says;
    return [event.event, stored, caller, next, exceptionsOf(event)];
  });
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  const line = (row: readonly string[], fill = " ") =>
    `| ${row.map((text, column) => text.padEnd(widths[column]!, fill)).join(" | ")} |`;
  const rule = line(
    header.map(() => "-"),
    "-",
  );
  return [line(header), rule, ...rows.map((row) => line(row))].join("\n");
}

/** The page with the table that the program prints. */
export function withPrintedTable(page: string): string {
  const [begin, end] = tableMarks.map((mark) => page.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin) {
    throw new Error(`The page has no marks ${tableMarks.join(" and ")}.`);
  }
  return `${page.slice(0, begin + tableMarks[0].length)}\n\n${printedTable()}\n\n${page.slice(end)}`;
}

/** The doors that differ, those with the same reason together. */
function exceptionsOf({ doors: exceptions = {} }: Pick<TurnEvent, "doors">): string {
  const byReason = new Map<string, string[]>();
  for (const door of Object.keys(doors) as DoorName[]) {
    const exception = exceptions[door];
    if (exception !== undefined) {
      byReason.set(exception.reason, [...(byReason.get(exception.reason) ?? []), door]);
    }
  }
  return [...byReason].map(([reason, names]) => `${names.join("; ")}: ${reason}`).join(". ");
}
