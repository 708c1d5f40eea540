import type { Workload } from "../plan/session-plan.js";

/** How clients reach the servers: through proxies, where the addresses that servers name are mapped to theirs. */
export type Address =
  | { readonly kind: "single"; readonly port: number }
  | { readonly kind: "sentinel"; readonly sentinels: readonly HostPort[]; readonly name: string; readonly map: NatMap }
  | { readonly kind: "cluster"; readonly nodes: readonly HostPort[]; readonly map: NatMap };

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Addresses of proxies by the addresses of the servers behind them. */
export type NatMap = Readonly<Record<string, HostPort>>;

/** Microseconds of the monotonic clock at which the first sessions begin, and at which all ends. */
export interface Span {
  readonly begin: number;
  readonly end: number;
}

/** What a client process has to do. It says "ready", and is told the time as a {@link Span}. */
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
