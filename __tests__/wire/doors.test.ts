import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { cellName, type CellReport, cellsOfQuarters } from "../../testkit/wire-doors/cells.js";
import { type BuiltPrograms, buildPrograms } from "../support/built-programs.js";
import { drawnQuarter } from "./drawn-quarter.js";

// Its own process, because two of the chat models cannot be loaded as CommonJS.
const source = "testkit/wire-doors/main.ts";
const { name, quarters, options } = drawnQuarter();
const cells = cellsOfQuarters(quarters).map(cellName);
let programs: BuiltPrograms;
let program: ChildProcess;
let lines: AsyncIterator<string>;

beforeAll(async () => {
  programs = await buildPrograms([source]);
  program = spawn(process.execPath, [programs.pathOf(source), ...options], { stdio: ["ignore", "pipe", "inherit"] });
  lines = createInterface({ input: program.stdout! })[Symbol.asyncIterator]();
});
afterAll(() => {
  program.kill();
  programs.remove();
});

/** The report of a cell; the program runs them in the order of the tests. */
async function reportOf(cell: string): Promise<CellReport> {
  for (;;) {
    const { value, done } = await lines.next();
    if (done === true) {
      throw new Error("The program ended before it had run this cell.");
    }
    const report = value.startsWith("{") ? (JSON.parse(value) as CellReport) : undefined;
    if (report?.cell === cell) {
      return report;
    }
  }
}

/**
 * Behind a prompt with a system text, where no model is in sight to merge another one into: ChatGoogleGenerativeAI
 * throws at it (langchain-ai/langgraph#2441, open).
 */
const excepted = ["recalled", "late system message"].map((operation) => `hidden/invoke/google-genai/${operation}`);
const secondSystem = "System message should be the first one";
/** Calls behind no answer that tells its provider: a ChatGoogle out of sight does not read them, see the matrix. */
const unread = "hidden/invoke/google/repair: calls by hand";

it.each(cells.filter((cell) => cell !== unread))(
  `no request is refused, and no run fails (${name}): %s`,
  async (cell) => {
    const { requests, ...report } = await reportOf(cell);
    const failed = report.failed.filter((failure) => !excepted.includes(cell) || !failure.endsWith(secondSystem));
    expect({ ...report, failed }).toEqual({ cell, refused: [], failed: [], happened: true });
    expect(report.failed.length > 0).toBe(excepted.includes(cell));
    expect(requests).toBeGreaterThan(1);
  },
);
