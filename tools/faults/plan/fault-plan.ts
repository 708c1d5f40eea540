import { randomOf } from "../../testkit/random.js";
import type { TopologyName } from "../../testkit/topologies/topology.js";

/** Faults that end by themselves or at once. */
const lightFaults = [
  "cut-before",
  "cut-after",
  "cut-inside",
  "cut-all",
  "stall",
  "script-flush",
  "client-kill",
  "client-pause",
  "kill-process",
  "memory",
] as const;

/** Faults after which the servers have to come together again before the next of them. */
const heavyFaults = {
  single: ["restart", "freeze"],
  sentinel: ["restart", "freeze", "failover", "master-kill", "master-freeze"],
  cluster: ["restart", "freeze", "failover", "master-kill", "master-freeze", "slot-move"],
} as const;

export type FaultKind = (typeof lightFaults)[number] | (typeof heavyFaults)[TopologyName][number];

/** One fault: when, in milliseconds from the start, what, and a number that decides the rest (which node, how long). */
export interface PlannedFault {
  readonly at: number;
  readonly kind: FaultKind;
  readonly heavy: boolean;
  readonly draw: number;
}

/** Every kind that a topology knows. */
export function faultKinds(topology: TopologyName): FaultKind[] {
  return [...lightFaults, ...heavyFaults[topology]];
}

/** How often a light fault is made, beside 1 for the others. A process that begins again has to load its code. */
const lightWeights: Partial<Record<FaultKind, number>> = { "cut-after": 3, memory: 0.5, "kill-process": 0.3 };

const heavyEveryMs = { single: 6_000, sentinel: 20_000, cluster: 14_000 };

/**
 * The faults of a run, as the seed says. Leaving kinds out leaves the others where they were, so that a set of faults
 * can be made smaller.
 */
export function faultPlan(
  seed: number,
  topology: TopologyName,
  { seconds, only }: { readonly seconds: number; readonly only?: readonly FaultKind[] | undefined },
): PlannedFault[] {
  const random = randomOf(seed, "faults", topology);
  const end = seconds * 1_000;
  const faults: PlannedFault[] = [];
  for (let at = 400; at < end; at += random.between(200, 1_000)) {
    const kind = random.weighted(lightFaults, (name) => lightWeights[name] ?? 1);
    faults.push({ at, kind, heavy: false, draw: random.next() });
  }
  const heavies = heavyFaults[topology];
  // Each kind once, in an order of the seed, before any comes again: a short run should have seen most of them.
  const order = randomOf(seed, "order").shuffled(heavies);
  const every = heavyEveryMs[topology];
  for (let at = 1_500, index = 0; at < end - 3_000; at += random.between(every * 0.7, every), index += 1) {
    faults.push({ at: Math.round(at), kind: order[index % order.length]!, heavy: true, draw: random.next() });
  }
  return faults.filter(({ kind }) => only === undefined || only.includes(kind)).sort((a, b) => a.at - b.at);
}
