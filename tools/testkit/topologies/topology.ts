import type { ServerNode } from "./node.js";

/** The arrangement of the servers. */
export type TopologyName = "single" | "sentinel" | "cluster";

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

/** Servers in an arrangement, each behind its proxy. */
export interface Topology {
  readonly name: TopologyName;
  readonly address: Address;
  readonly nodes: readonly ServerNode[];
  /** The servers that take writes now. */
  masters(): Promise<ServerNode[]>;
  /** The replica of a master; undefined where it has none that runs. */
  replicaOf(master: ServerNode): Promise<ServerNode | undefined>;
  /** Makes a replica the master by command. */
  failOver(master: ServerNode): Promise<void>;
  /** Starts a server again that was killed. */
  revive(node: ServerNode): Promise<void>;
  /** Waits until all servers run and every replica has its master's data. */
  untilWhole(): Promise<void>;
  /** The address for a client that reads everything, past the proxies. */
  readonly direct: Address;
  stop(): Promise<void>;
}
