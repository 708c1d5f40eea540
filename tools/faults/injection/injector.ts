import { setTimeout as pause } from "node:timers/promises";
import { clock } from "../journal/entries.js";
import type { FaultKind, PlannedFault } from "../plan/fault-plan.js";
import type { Topology } from "../../testkit/topologies/topology.js";
import type { FaultLog } from "./fault-log.js";
import { heavyFaults } from "./heavy-faults.js";
import { lightFaults, type ClientProcesses, type Fault } from "./light-faults.js";

const faults: Record<FaultKind, Fault> = { ...lightFaults, ...heavyFaults };

/** The place and the time of faults. */
export interface Injection {
  readonly topology: Topology;
  readonly clients: ClientProcesses;
  readonly log: FaultLog;
  /** Microseconds of the monotonic clock. */
  readonly begin: number;
  readonly end: number;
}

/** Milliseconds without heavy faults after each, so that clients get something done on slow machines too. */
const restMs = 2_000;

/**
 * Makes the planned faults at their times. The light ones do not wait for anything; a heavy one waits until the servers
 * have come together after the one before, and is left out where they have had no rest since.
 */
export async function injectFaults(plan: readonly PlannedFault[], injection: Injection): Promise<void> {
  await Promise.all(
    [true, false].map((heavy) =>
      injectOneByOne(
        plan.filter((fault) => fault.heavy === heavy),
        injection,
      ),
    ),
  );
}

async function injectOneByOne(plan: readonly PlannedFault[], injection: Injection): Promise<void> {
  const { begin, end, log } = injection;
  let restedAt = 0;
  for (const planned of plan) {
    if (planned.heavy && begin + planned.at * 1_000 < restedAt) {
      continue;
    }
    await pause(Math.max(0, begin / 1_000 + planned.at - clock() / 1_000));
    if (clock() > end) {
      return;
    }
    const from = clock();
    const failed = await make(planned, injection);
    log.add({ kind: planned.kind, from, to: clock(), heavy: planned.heavy, ...(failed !== undefined && { failed }) });
    restedAt = clock() + restMs * 1_000;
  }
}

async function make(
  { kind, draw, heavy }: PlannedFault,
  { topology, clients }: Injection,
): Promise<string | undefined> {
  try {
    await faults[kind]({ topology, clients, draw });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "unknown";
  } finally {
    // The end of the run waits once more; until then the servers may stay apart.
    await (heavy ? topology.untilWhole().catch(() => undefined) : undefined);
  }
}
