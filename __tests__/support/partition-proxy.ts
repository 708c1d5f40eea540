import { connect, createServer, type Socket } from "node:net";

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
  const sockets = new Map<Socket, string>();
  let blocked: ReadonlySet<string> = new Set();
  const server = createServer((client) => {
    const host = client.remoteAddress ?? "";
    const upstream = connect(target.port, target.host);
    const ends = [client, upstream] as const;
    const close = () => ends.forEach((socket) => socket.destroy());
    for (const [socket, other] of [ends, [upstream, client] as const]) {
      sockets.set(socket, host);
      socket.setNoDelay(true).on("error", () => undefined);
      socket.once("close", () => {
        sockets.delete(socket);
        close();
      });
      socket.on("data", (data) => {
        if (!blocked.has(host)) {
          other.write(data);
        }
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (isMeant: (host: string) => boolean) =>
    sockets.forEach((host, socket) => isMeant(host) && socket.destroy());
  return {
    port: (server.address() as { port: number }).port,
    block: (hosts) => void (blocked = new Set(hosts)),
    heal: () => {
      const once = blocked;
      blocked = new Set();
      cut((host) => once.has(host));
    },
    stop: () => {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      cut(() => true);
      return stopped;
    },
  };
}
