import { connect, createServer, type Socket } from "node:net";

/** Where a connection is cut: before the server hears the question, after it answered, or inside its answer. */
export type CutPlace = "before" | "after" | "inside";

/** A TCP proxy before one server that cuts connections where it is told to. */
export interface CuttingProxy {
  readonly port: number;
  /** Cuts the connections of the next exchanges at this place. */
  arm(place: CutPlace, exchanges: number): void;
  /** Cuts all connections. */
  cut(): void;
  /** From now on the connections that are open forward nothing and stay open; new ones work. */
  stall(): void;
  stop(): Promise<void>;
}

interface Orders {
  place: CutPlace;
  left: number;
}

/** Starts a proxy before a server on a loopback port. */
export async function startCuttingProxy(serverPort: number): Promise<CuttingProxy> {
  const orders: Orders = { place: "before", left: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(serverPort, "127.0.0.1");
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true).on("error", () => undefined);
      socket.once("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    forward(client, upstream, orders);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => sockets.forEach((socket) => socket.destroy());
  return {
    port: (server.address() as { port: number }).port,
    arm: (place, exchanges) => void Object.assign(orders, { place, left: exchanges }),
    cut,
    stall: () => sockets.forEach((socket) => socket.removeAllListeners("data").resume()),
    stop: () => {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      return stopped;
    },
  };
}

function forward(client: Socket, upstream: Socket, orders: Orders): void {
  // A connection that is to be cut at its answer is marked by its question, so that the question is one that writes.
  let cutting: CutPlace | undefined;
  client.on("data", (data) => {
    if (orders.left > 0 && isWrite(data)) {
      orders.left -= 1;
      cutting = orders.place;
    }
    if (cutting === "before") {
      client.destroy();
      return;
    }
    upstream.write(data);
  });
  upstream.on("data", (data) => {
    if (cutting === undefined) {
      client.write(data);
    } else if (cutting === "inside") {
      client.end(data.subarray(0, Math.ceil(data.length / 2)));
    } else {
      client.destroy();
    }
  });
}

/** True for what holds a script: only these write. */
function isWrite(data: Buffer): boolean {
  return data.includes("\r\nevalsha\r\n") || data.includes("\r\neval\r\n");
}
