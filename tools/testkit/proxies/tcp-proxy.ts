import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy before a server on loopback; what passes is decided by whoever starts it. */
export interface TcpProxy {
  readonly port: number;
  /** Cuts connections: those from these source addresses, or all. */
  cut(isMeant?: (host: string) => boolean): void;
  /** From now on the connections that are open forward nothing and stay open; new ones work. */
  stall(): void;
  stop(): Promise<void>;
}

/** Starts a proxy on a free port; `join` forwards between the two ends of each connection. */
export async function startTcpProxy(
  target: { readonly host: string; readonly port: number },
  join: (client: Socket, upstream: Socket, host: string) => void,
): Promise<TcpProxy> {
  const sockets = new Map<Socket, string>();
  const server = createServer((client) => {
    const host = client.remoteAddress ?? "";
    const upstream = connect(target.port, target.host);
    for (const socket of [client, upstream]) {
      sockets.set(socket, host);
      socket.setNoDelay(true).on("error", () => undefined);
      socket.once("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    join(client, upstream, host);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (isMeant = (_host: string) => true) =>
    sockets.forEach((host, socket) => isMeant(host) && socket.destroy());
  return {
    port: (server.address() as { port: number }).port,
    cut,
    stall: () => sockets.forEach((_, socket) => socket.removeAllListeners("data").resume()),
    stop: () => {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      return stopped;
    },
  };
}
