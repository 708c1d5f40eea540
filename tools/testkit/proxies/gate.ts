import { startTcpProxy } from "./tcp-proxy.js";

/** A way to a server on loopback that can be blocked. */
export interface Gate {
  readonly port: number;
  /** From now on nothing passes; connections stay open. */
  block(): void;
  /** Lets all pass again, and cuts the connections: what was sent meanwhile is lost. */
  heal(): void;
  stop(): Promise<void>;
}

/** Starts an open gate to the server at this address, on a free port. */
export async function startGate(url: string): Promise<Gate> {
  const { hostname: host, port } = new URL(url);
  let isOpen = true;
  const proxy = await startTcpProxy({ host, port: Number(port) }, (client, upstream) => {
    client.on("data", (data) => isOpen && upstream.write(data));
    upstream.on("data", (data) => isOpen && client.write(data));
  });
  return {
    port: proxy.port,
    block: () => void (isOpen = false),
    heal: () => {
      isOpen = true;
      proxy.cut();
    },
    stop: () => proxy.stop(),
  };
}
