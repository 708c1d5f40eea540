import { allCells, type Cell, cellName, type CellReport, cellsOfParts } from "./cells.js";
import { operations } from "./operations.js";
import { Scene } from "./scene.js";

// Runs every operation through every door against the servers that stand for the providers, and prints one line of
// JSON a cell. `npm run check:wire:doors -- <text>` runs the cells whose name holds the text, and
// `-- --parts 0,2` two parts of all.

const [, , only = "", parts = ""] = process.argv;

// The client of ChatGoogleGenerativeAI leaves a promise behind that rejects when a stream is stopped.
process.on("unhandledRejection", (error) => {
  if (!(error as Error).message.startsWith("[GoogleGenerativeAI Error]")) {
    throw error;
  }
});

async function runCell(cell: Cell): Promise<CellReport> {
  const { settings, run } = operations[cell.operation];
  const scene = new Scene(cell, settings?.() ?? {});
  try {
    const happened = await run(scene).catch((error: unknown) => {
      scene.failed.push(String(error));
      return false;
    });
    const { requests, failed } = scene;
    const refused = requests.flatMap(({ violations }, index) => violations.map(({ rule }) => `${index + 1}: ${rule}`));
    return { cell: cellName(cell), requests: requests.length, refused, failed, happened };
  } finally {
    await scene.close();
  }
}

const cells =
  only === "--parts"
    ? cellsOfParts(parts.split(",").map(Number))
    : allCells().filter((cell) => cellName(cell).includes(only));
for (const cell of cells) {
  const line = `${JSON.stringify(await runCell(cell))}\n`;
  // Before the process ends, all has to be written.
  await new Promise<void>((resolve) => process.stdout.write(line, () => resolve()));
}
process.exit(0);
