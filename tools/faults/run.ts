import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { checkRun, type Evidence, type Verdict } from "./checking/check-run.js";
import type { FinalSession } from "./checking/session-case.js";
import { failoverWindows } from "./checking/failover-windows.js";
import { buildClient } from "./client/build-client.js";
import { Clients } from "./client-processes.js";
import { FaultLog } from "./injection/fault-log.js";
import { injectFaults } from "./injection/injector.js";
import { watchMasters } from "./injection/watch-masters.js";
import { clock } from "./journal/entries.js";
import { finalLine, unread } from "./journal/final-line.js";
import { writeRuns } from "./journal/runs.js";
import { readJournals, type Call } from "./journal/read-journals.js";
import type { RunOptions } from "./options.js";
import { faultPlan } from "./plan/fault-plan.js";
import type { Workload } from "./plan/session-plan.js";
import { focuses } from "./plants/focuses.js";
import { readAnswers } from "./read-answers.js";
import { readLists } from "./read-lists.js";
import { readSessions } from "./read-sessions.js";
import { readThreads } from "./read-threads.js";
import { reportOf, type RunReport } from "./report.js";
import { judge } from "./second-opinion/judge.js";
import { readFolder } from "./second-opinion/journals.js";
import { startCluster } from "../testkit/topologies/cluster.js";
import { startSentinel } from "../testkit/topologies/sentinel.js";
import { startSingle } from "../testkit/topologies/single.js";
import { until } from "../testkit/servers/until.js";
import type { ServerNode } from "../testkit/topologies/node.js";
import type { Topology } from "../testkit/topologies/topology.js";

const start = { single: startSingle, sentinel: startSentinel, cluster: startCluster };

/** Makes one run: servers, clients, faults, and the comparison afterwards. The folder holds its journals. */
export async function runOnce(options: RunOptions): Promise<RunReport> {
  const { seconds, seed, topology: name } = options;
  const folder = mkdtempSync(join(tmpdir(), `lcmem-faults-${name}-${seed}-`));
  const program = await buildClient(options.plant);
  const servers = join(folder, "servers");
  mkdirSync(servers);
  const topology = await start[name](servers);
  const log = new FaultLog(join(folder, "faults.jsonl"));
  try {
    const evidence = await gather(options, { topology, folder, program, log });
    const verdict = checkRun(evidence);
    const opinion = judge(readFolder(folder));
    const report = reportOf({ options, verdict, opinion, log, seconds, folder, complaints: evidence.complaints });
    writeFileSync(join(folder, "report.json"), JSON.stringify(whole(report, verdict, evidence), undefined, 2));
    rmSync(report.failed || options.keep ? servers : folder, { recursive: true, force: true });
    return report;
  } finally {
    await topology.stop();
    rmSync(program, { force: true });
    rmSync(servers, { recursive: true, force: true });
  }
}

/** The report with all findings, and what the sessions concerned held in the end. */
function whole(report: RunReport, { findings }: Verdict, { sessions }: Evidence) {
  const concerned = new Set(findings.map(({ session }) => session));
  const held = sessions
    .filter(({ id }) => concerned.has(id))
    .map(({ log, view, ...rest }) => {
      const runs = (tokens: FinalSession["log"]) => writeRuns(tokens.map((token) => token ?? unread));
      return { ...rest, log: runs(log), view: { ...view, head: runs(view.head), tokens: runs(view.tokens) } };
    });
  return { ...report, findings, sessions: held };
}

interface Stage {
  readonly topology: Topology;
  readonly folder: string;
  readonly program: string;
  readonly log: FaultLog;
}

async function gather(options: RunOptions, { topology, folder, program, log }: Stage) {
  const { seconds, seed, only, thinkMs } = options;
  const workload = workloadOf(options);
  const clients = new Clients({ workload, thinkMs, address: topology.address }, { program, folder });
  const unwatch = watchMasters(topology, log);
  try {
    // Faults and sessions are counted from the same time.
    const { begin, end } = await clients.begin(() => ({ begin: clock(), end: clock() + seconds * 1_000_000 }));
    const plan = faultPlan(seed, options.topology, { seconds, only });
    await injectFaults(plan, { topology, clients, log, begin, end });
    await pause(Math.max(0, (end - clock()) / 1_000));
    await clients.ended(40_000);
    // Readable sessions are compared also where the servers do not come together.
    await topology.untilWhole().catch((error: unknown) => clients.complaints.unshift(String(error)));
    await freeMemory(topology);
  } finally {
    clients.abandon();
    await unwatch();
  }
  const calls = readJournals(folder);
  const ids = [...new Set(calls.flatMap(({ session, into }) => [session, into]).filter((id) => id !== undefined))];
  const owners = [...new Set(calls.flatMap(({ owner }) => owner ?? []))];
  const erasures = calls.filter(({ do: deed }) => deed === "erase");
  await pause(Math.max(0, guardedUntil(erasures) - clock() / 1_000));
  const erased = new Set(erasures.flatMap(({ session }) => session ?? []));
  const at = clock();
  const sessions = await readSessions(topology, { ids, erased });
  writeFileSync(join(folder, "final.jsonl"), sessions.map((session) => finalLine(session, at)).join(""));
  const windows = failoverWindows(log.promotions, log.faults);
  const lists = await readLists(topology, owners);
  const threads = await readThreads(topology, [...new Set(calls.flatMap(({ thread }) => thread ?? []))]);
  const chats = await readAnswers(topology, [...new Set(calls.flatMap(({ chat }) => chat ?? []))]);
  return { calls, sessions, lists, threads, chats, windows, complaints: clients.complaints };
}

/** Ends the fault `memory` on servers that could not hear of its end. */
async function freeMemory({ nodes }: Topology): Promise<void> {
  const running = nodes.filter(({ isRunning }) => isRunning);
  const free = async (node: ServerNode) =>
    node
      .use((client) => client.config("SET", "maxmemory", "0"))
      .then(
        () => true,
        () => false,
      );
  await Promise.all(running.map((node) => until("a server has memory again", async () => free(node))));
}

/** When the last guard of an erasure is over, in milliseconds. A call that was not answered may have begun late. */
function guardedUntil(erasures: readonly Call[]): number {
  const ends = erasures.map(({ asked, told, guardMs = 0 }) => {
    const last = told === Infinity ? asked + longestCall : told;
    return last / 1_000 + guardMs + 200;
  });
  return Math.max(0, ...ends);
}

/** Microseconds. */
const longestCall = 5_000_000;

/** How the work is shared: some sessions in each process, each session with three; fewer where a defect is planted. */
export function workloadOf({ seed, topology, plant }: Pick<RunOptions, "seed" | "topology" | "plant">): Workload {
  const all = { seed, processes: 4, replicas: topology !== "single" };
  return plant === undefined
    ? { ...all, groups: 12, writers: 3, sessionMs: 6_000 }
    : { ...all, groups: 4, writers: 4, sessionMs: 3_000, focus: focuses[plant] };
}
