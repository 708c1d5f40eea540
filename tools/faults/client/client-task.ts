import type { Address } from "../../testkit/topologies/topology.js";
import type { Workload } from "../plan/session-plan.js";

/** Microseconds of the monotonic clock at which the first sessions begin, and at which all ends. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** The task of a client process. It says "ready", and is told the time as a {@link Span}. */
export interface ClientTask {
  readonly workload: Workload;
  readonly process: number;
  /** How often this process was killed and begun again. */
  readonly incarnation: number;
  /** Most milliseconds between two operations of a client. */
  readonly thinkMs: number;
  readonly address: Address;
  readonly journal: string;
}
