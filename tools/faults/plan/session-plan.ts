import { randomOf } from "../../testkit/random.js";

/** Operations on a session besides writing and reading it. */
export type Removals = "none" | "rewind" | "clear" | "erase";

/** The reducer of a session's view. */
export type ReducerKind = "none" | "truncation" | "tokens" | "summary" | "summaries" | "foreign";

/** The plan for one session. Several clients in different processes write to it at the same time. */
export interface SessionPlan {
  readonly id: string;
  readonly removals: Removals;
  readonly reducer: ReducerKind;
  readonly reduceWhen: "between-turns" | "background" | "always";
  /** True if a replica has to acknowledge each write. */
  readonly waits: boolean;
  /** The fate of records that a reduction leaves out of the view. */
  readonly retention: "keep" | "discard";
  /** When chains and agents store. */
  readonly persist: "turn" | "step";
  /** Whose session it is; undefined for nobody's. */
  readonly owner: string | undefined;
  readonly isEncrypted: boolean;
  /** True where chains and agents hold the session, one turn at a time; otherwise their turns overtake each other. */
  readonly holds: boolean;
  /** True where the session has an expiry, which no run is long enough to see. */
  readonly expires?: boolean;
}

const reducers = ["none", "truncation", "tokens", "summary", "summary", "summaries", "foreign"] as const;
const moments = ["between-turns", "background", "always"] as const;
const removalWeights = { none: 3, rewind: 3, clear: 1, erase: 0.4 };

/** How the clients share the work. */
export interface Workload {
  readonly seed: number;
  readonly processes: number;
  /** Sessions in use at any time. */
  readonly groups: number;
  /** Processes that write to each session. */
  readonly writers: number;
  /** Milliseconds after which a group goes on to its next session. */
  readonly sessionMs: number;
  /** True where there are replicas. */
  readonly replicas: boolean;
  /** The work to do more of than usual. */
  readonly focus?: Focus;
}

/** A kind of work that many clients do at once, so that a defect in it shows soon. */
export interface Focus {
  readonly reducers?: readonly ReducerKind[];
  readonly removals?: readonly Removals[];
  readonly reduceWhen?: SessionPlan["reduceWhen"];
  readonly isEncrypted?: boolean;
  /** How often operations are chosen, by their names, instead of as often as they say. */
  readonly weights?: Readonly<Record<string, number>>;
  /** The faults that simulations make, instead of all. */
  readonly faults?: readonly string[];
}

/** The session that a group uses in a round, as the seed says. */
export function sessionPlan({ seed, replicas, focus }: Workload, group: number, round: number): SessionPlan {
  const random = randomOf(seed, "session", group, round);
  const id = `g${group}r${round}`;
  const kinds = focus?.removals ?? (["none", "rewind", "clear", "erase"] as const);
  const removals = random.weighted(kinds, (kind) => removalWeights[kind]);
  return {
    ...{ id, removals },
    reducer: random.pick(focus?.reducers ?? reducers),
    reduceWhen: random.pick(focus?.reduceWhen === undefined ? moments : [focus.reduceWhen]),
    waits: random.chance(0.25) && replicas,
    retention: random.weighted(["keep", "discard"] as const, (kind) => (kind === "keep" ? 4 : 1)),
    persist: random.pick(["turn", "step"] as const),
    // Who is erased has one session, so that the others stay what they are.
    owner: removals === "erase" ? `gone.${id}` : random.pick([undefined, "ann", "bob", "eve"]),
    isEncrypted: random.chance(0.2) || focus?.isEncrypted === true,
    holds: random.chance(0.5),
    expires: random.chance(0.3),
  };
}

/** The groups that a process writes for. Neighbours share groups, so that each session has several processes. */
export function groupsOf({ groups, processes, writers }: Workload, process: number): number[] {
  return Array.from({ length: groups }, (_, group) => group).filter(
    (group) => (process - group + groups * processes) % processes < writers,
  );
}

/** The plan of a session by its id; undefined for a name that no plan gives. */
export function sessionPlanOf(workload: Workload, id: string): SessionPlan | undefined {
  const found = /^g(\d+)r(\d+)$/.exec(id);
  return found === null ? undefined : sessionPlan(workload, Number(found[1]), Number(found[2]));
}
