/** Writes the table of events in the life of a turn into docs/guarantees.md: what `doors-and-events` tests. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { withPrintedTable } from "../../__tests__/turns/doors-and-events/printed-table.js";

const page = fileURLToPath(new URL("../../docs/guarantees.md", import.meta.url));
writeFileSync(page, withPrintedTable(readFileSync(page, "utf8")));
