import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { quantile } from "../measure/statistics.js";
import { digits, whole } from "../report/format.js";
import type { Section, Setting } from "../report/section.js";
import { openContenders } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

const script = fileURLToPath(new URL("../children/resident-memory.ts", import.meta.url));

interface Held {
  readonly afterTurn: number;
  readonly perHistory: number;
  readonly peak: number;
}

/** Memory of a process that uses one package. */
export async function residentMemorySuite({ server, quick }: Setting): Promise<Section> {
  const length = quick ? 100 : 10_000;
  const sessions = quick ? 20 : 2_000;
  const contenders = openContenders(server.url);
  const messages = conversation(length);
  const rows: string[][] = [];
  for (const { name, fill } of contenders) {
    const longSession = `${name}-${randomUUID()}`;
    await fill(longSession, messages);
    const runs: Held[] = [];
    for (let run = 0; run < (quick ? 1 : 5); run += 1) {
      runs.push(await runOnce([name, server.url, longSession, String(sessions)]));
    }
    const median = (field: keyof Held) =>
      quantile(
        runs.map((run) => run[field]),
        0.5,
      );
    rows.push([
      name,
      `${digits(median("afterTurn"))} MB`,
      `${whole(median("perHistory"))} B`,
      `${digits(median("peak"))} MB`,
    ]);
  }
  await Promise.all(contenders.map((contender) => contender.close()));
  return {
    title: "Memory of the process",
    about:
      "A Node.js process that uses one package: resident after a first turn, heap for each of " +
      `${whole(sessions)} histories that are kept after a turn, and the largest resident size over 20 ` +
      `reads of ${whole(length)} messages. The process holds this benchmark's loader and all three ` +
      "packages too.",
    tables: [
      {
        title: "Memory, medians",
        head: ["", "resident after a turn", "heap a history", `peak, ${whole(length)} messages`],
        rows,
      },
    ],
  };
}

function runOnce(args: string[]): Promise<Held> {
  return new Promise((resolve, reject) => {
    const child = fork(script, args, { execArgv: ["--import", "tsx", "--expose-gc"] });
    let held: Held | undefined;
    child.once("message", (message) => (held = message as Held));
    child.once("exit", (code) =>
      held === undefined ? reject(new Error(`A process stopped with code ${code}.`)) : resolve(held),
    );
  });
}
