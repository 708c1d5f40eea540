import type { Address } from "../client/client-task.js";
import type { TopologyName } from "../plan/fault-plan.js";
import type { ServerNode } from "./node.js";

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
