import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import type { Task } from "../children/client-process.js";
import { quantile } from "../measure/statistics.js";
import { atLeast, digits, whole } from "../report/format.js";
import { rateHeadline } from "../report/headlines.js";
import type { Section, Setting } from "../report/section.js";
import { names } from "../setting/contenders.js";

const contenders = [names.ours, names.redis, names.community];
/** Turns of each contender in each process before the first that counts: V8 has compiled their code by then. */
const untilCompiled = 3_000;
const script = fileURLToPath(new URL("../children/client-process.ts", import.meta.url));

/** Turns a second of 1 to 8 client processes that share a server. */
export async function processesSuite({ server, quick }: Setting): Promise<Section> {
  const counts = quick ? [1, 2] : [1, 2, 4, 8];
  const cleaner = new Redis(server.url);
  const children = Array.from({ length: counts.at(-1)! }, () =>
    fork(script, [server.url, String(quick ? 20 : untilCompiled)], { execArgv: ["--import", "tsx"] }),
  );
  await Promise.all(children.map(nextMessage));
  const lines: number[][][] = [];
  for (const count of counts) {
    const rates = contenders.map((): number[] => []);
    for (let repeat = 0; repeat < (quick ? 1 : 5); repeat += 1) {
      for (const [index, name] of contenders.entries()) {
        rates[index]!.push(await turnsPerSecond(children.slice(0, count), { name, milliseconds: quick ? 100 : 1_000 }));
        await cleaner.flushdb();
      }
    }
    lines.push(rates);
  }
  cleaner.disconnect();
  children.forEach((child) => child.disconnect());
  return section(counts, lines);
}

async function turnsPerSecond(children: readonly ChildProcess[], task: Task): Promise<number> {
  const turns = Promise.all(children.map(nextMessage));
  for (const child of children) {
    child.send(task);
  }
  const total = (await turns).reduce<number>((sum, number) => sum + Number(number), 0);
  return (total * 1_000) / task.milliseconds;
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`A client process stopped with code ${code}.`));
    child.once("exit", fail);
    child.once("message", (message) => {
      child.off("exit", fail);
      resolve(message);
    });
  });
}

function section(counts: readonly number[], lines: readonly number[][][]): Section {
  const medians = lines.map((rates) => rates.map((values) => quantile(values, 0.5)));
  const rows = lines.map((rates, line) => {
    const [ours, ...others] = medians[line]!;
    const shown = rates.map(
      (values, index) =>
        `${whole(medians[line]![index]!)} (${whole(Math.min(...values))}–${whole(Math.max(...values))})`,
    );
    return [String(counts[line]), ...shown, ...others.map((other) => `${digits(ours! / other)} ×`)];
  });
  const [ours, ...others] = medians.at(-1)!;
  const head = ["processes", ...contenders, ...contenders.slice(1).map((name) => `${names.ours} / ${name}`)];
  return {
    title: "Many processes",
    about:
      "Turns a second (a read and a write of two messages with a time to live) of several client " +
      "processes, eight sessions at once in each, on one server; median and range of the repeats. Clients " +
      "and server share the machine's cores. " +
      `Each process has played ${whole(untilCompiled)} turns of each package before: until its code is compiled, ` +
      "this package carries a third as many as the peers.",
    tables: [{ title: "Turns a second, by number of client processes", head, rows }],
    targets: [
      atLeast("turns a second, 8 client processes, against @langchain/community", 0.8, ours! / others[1]!),
      atLeast("turns a second, 8 client processes, against @langchain/redis", 0.6, ours! / others[0]!),
    ],
    headlines: [
      rateHeadline({ what: `turns a second, ${counts.at(-1)} client processes`, inReadme: true, ours: ours!, others }),
    ],
  };
}
