import { randomOf, type Random } from "../../testkit/random.js";
import { operations } from "../client/operations/all-operations.js";
import { appendWithIds, appendWithTurnId } from "../client/operations/append-turn.js";
import { clearHeld, heldTurn } from "../client/operations/held-turn.js";
import { clear } from "../client/operations/remove-messages.js";
import type { Operation } from "../client/operations/operation.js";
import { chainTurn } from "../client/operations/run-turn.js";
import { sessionPlan, type Focus, type SessionPlan } from "../plan/session-plan.js";
import type { Pace } from "./connection.js";

/** A step of a client: an operation, the milliseconds before it, and the number that decides the rest. */
export interface PlannedOperation {
  readonly name: string;
  readonly pauseMs: number;
  readonly draw: number;
}

/** The work of a process on a session, one operation after the other. */
export interface PlannedLane {
  readonly process: number;
  readonly session: number;
  readonly operations: readonly PlannedOperation[];
}

const faultKinds = [
  ...(["cut", "lose-reply", "stall", "pause", "kill", "flush-scripts"] as const),
  ...(["full", "expire", "evict", "restart", "takeover"] as const),
];

export type SimulatedFault = (typeof faultKinds)[number];

/** A fault: when, what, whom it concerns, how long it takes, and a number that decides the rest. */
export interface PlannedFault {
  readonly kind: SimulatedFault;
  readonly atMs: number;
  readonly process: number;
  readonly session: number;
  readonly forMs: number;
  readonly draw: number;
}

/** A place at which a schedule leaves the first one: the number of the choice, and that of the option it takes. */
export type Deviation = readonly [choice: number, option: number];

/** The plan of a world, from which the rest follows. */
export interface Scenario {
  readonly seed: number;
  readonly pace: Pace;
  readonly plans: readonly SessionPlan[];
  readonly lanes: readonly PlannedLane[];
  readonly faults: readonly PlannedFault[];
  /** Given, no time decides which request arrives first: the first schedule does, but for these deviations. */
  readonly order?: readonly Deviation[];
}

const simulated = operations.filter((each) => each.needsServers !== true && each !== clearHeld);
const beginnings = [appendWithIds.name, appendWithTurnId.name, chainTurn.name] as const;
const mostProcesses = 3;
const mostOperations = 5;

/** The scenario of a seed. */
export function scenarioOf(seed: number, focus?: Focus): Scenario {
  const random = randomOf(seed, "scenario");
  const processes = random.between(2, mostProcesses);
  const sessions = random.chance(0.25) ? 2 : 1;
  const workload = { seed, processes, groups: sessions, writers: processes, sessionMs: 0, replicas: false };
  const plans = Array.from({ length: sessions }, (_, session) =>
    sessionPlan({ ...workload, ...(focus && { focus }) }, session, 0),
  );
  const held = randomOf(seed, "held clears");
  const lanes = Array.from({ length: processes * sessions }, (_, index) => {
    const session = Math.floor(index / processes);
    const length = random.between(1, mostOperations);
    const work = Array.from({ length }, () => operationOf(plans[session]!, random, focus));
    return { process: index % processes, session, operations: withHeldClears(work, plans[session]!, held) };
  });
  const count = random.chance(0.35) ? 0 : random.between(1, 3);
  const kinds = faultKinds.filter((kind) => focus?.faults?.includes(kind) ?? true);
  const faults = Array.from({ length: count }, () => faultOf(random, { processes, sessions, kinds }));
  const pace = paceOf(randomOf(seed, "pace"));
  return { seed, pace, plans, lanes, faults: faults.sort((a, b) => a.atMs - b.atMs) };
}

/** When a schedule begins to decide: by then each process has stored what its operation may need. */
export const scheduledFromMs = 9;

/**
 * The small scenario of a seed, for schedules: two or three processes on one session do an operation or two each, at
 * the same time, and nothing fails but what a schedule lets fail.
 */
export function smallScenarioOf(seed: number, focus?: Focus): Scenario {
  const random = randomOf(seed, "small scenario");
  const processes = random.chance(0.85) ? 2 : 3;
  const workload = { seed, processes, groups: 1, writers: processes, sessionMs: 0, replicas: false };
  const plan = sessionPlan({ ...workload, ...(focus && { focus }) }, 0, 0);
  const lanes = Array.from({ length: processes }, (_, process) => {
    const first = { name: random.pick(beginnings), pauseMs: process, draw: random.next() };
    const begins = random.chance(process === 0 ? 0.8 : 0.4);
    const length = random.chance(0.85) ? 1 : 2;
    const work = Array.from({ length }, () => operationOf(plan, random, focus));
    const pauses = [scheduledFromMs + 1 - (begins ? process : 0), 0];
    const operations = withHeldClears(work, plan, random).map((each, at) => ({ ...each, pauseMs: pauses[at]! }));
    return { process, session: 0, operations: [...(begins ? [first] : []), ...operations] };
  });
  return { seed, pace: { short: 0, middle: 0, long: 0 }, plans: [plan], lanes, faults: [], order: [] };
}

/** Some clears and held turns clear under a hold, by numbers of their own: what seeds draw besides stays the same. */
function withHeldClears(
  work: readonly PlannedOperation[],
  { removals }: SessionPlan,
  random: Random,
): readonly PlannedOperation[] {
  const mayClear = ({ name }: PlannedOperation) => removals === "clear" && [clear.name, heldTurn.name].includes(name);
  return work.map((each) => (mayClear(each) && random.chance(0.4) ? { ...each, name: clearHeld.name } : each));
}

function paceOf(random: Random): Pace {
  const paces: readonly Pace[] = [
    { short: 2, middle: 12, long: 60 },
    { short: 1, middle: 40, long: 400 },
    { short: 5, middle: 300, long: 3_000 },
  ];
  return random.weighted(paces, ({ long }) => 400 / long);
}

function operationOf(plan: SessionPlan, random: Random, focus: Focus | undefined): PlannedOperation {
  const weightOf = ({ name, weight }: Operation) => focus?.weights?.[name] ?? weight(plan);
  const { name } = random.weighted(simulated, weightOf);
  return { name, pauseMs: random.chance(0.5) ? 0 : random.between(1, 120), draw: random.next() };
}

/** How often a fault is made beside the others. */
const weights: Readonly<Record<SimulatedFault, number>> = {
  ...{ cut: 5, "lose-reply": 5, stall: 2, pause: 3, kill: 1, "flush-scripts": 1, full: 0.7, expire: 1, evict: 0.5 },
  ...{ restart: 1, takeover: 1.5 },
};

function faultOf(
  random: Random,
  {
    processes,
    sessions,
    kinds,
  }: { readonly processes: number; readonly sessions: number; readonly kinds: readonly SimulatedFault[] },
): PlannedFault {
  return {
    kind: random.weighted(kinds, (kind) => weights[kind]),
    atMs: random.between(1, random.chance(0.7) ? 300 : 3_000),
    process: random.between(0, processes - 1),
    session: random.between(0, sessions - 1),
    forMs: random.weighted([30, 300, 3_000], (each) => 1 / Math.log(each)),
    draw: random.next(),
  };
}
