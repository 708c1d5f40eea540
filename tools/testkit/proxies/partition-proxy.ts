import { startTcpProxy } from "./tcp-proxy.js";

/** A TCP proxy before a port on loopback that lets some hosts through and others not. */
export interface PartitionProxy {
  readonly port: number;
  /** From now on nothing passes between these source addresses and the port; what is open is silent and stays open. */
  block(hosts: readonly string[]): void;
  /** Cuts the connections that were blocked; from now on everything passes. */
  heal(): void;
  stop(): Promise<void>;
}

/** Starts a proxy for connections to `target`, which it makes from its own address. */
export async function startPartitionProxy(target: { host: string; port: number }): Promise<PartitionProxy> {
  let blocked: ReadonlySet<string> = new Set();
  const { port, cut, stop } = await startTcpProxy(target, (client, upstream, host) => {
    client.on("data", (data) => blocked.has(host) || upstream.write(data));
    upstream.on("data", (data) => blocked.has(host) || client.write(data));
  });
  return {
    port,
    block: (hosts) => void (blocked = new Set(hosts)),
    heal: () => {
      const once = blocked;
      blocked = new Set();
      cut((host) => once.has(host));
    },
    stop,
  };
}
