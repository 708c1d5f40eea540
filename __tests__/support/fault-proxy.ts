import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy before a Redis server that counts round trips, swallows replies, delays them, and cuts connections. */
export interface FaultProxy {
  readonly port: number;
  readonly url: string;
  /**
   * Round trips since the last `resetFlights()`: times that a client sent something after a reply, or as its first
   * word. Commands that are sent together count once, and so do the commands by which a client introduces itself; count
   * from the first call on.
   */
  flights(): number;
  resetFlights(): void;
  /** From now on the server hears everything and the clients hear nothing, until `restoreReplies()`. */
  dropReplies(): void;
  /** Ends `dropReplies()` and `delayReplies()`; what was swallowed stays lost. */
  restoreReplies(): void;
  /** From now on replies arrive so much later. */
  delayReplies(milliseconds: number): void;
  /** From now on replies wait, until `releaseReplies()`. */
  holdReplies(): void;
  /** Sends the replies that wait, and ends `holdReplies()`. */
  releaseReplies(): void;
  /**
   * From now on the connections that are open forward nothing and stay open, as behind a firewall that forgot them; new
   * ones work.
   */
  stall(): void;
  /** Cuts all connections; clients may connect again. */
  cut(): void;
  stop(): Promise<void>;
}

interface Behaviour {
  flights: number;
  silent: boolean;
  delay: number;
  /** What `releaseReplies()` has to send; undefined where replies pass. */
  held: (() => void)[] | undefined;
}

/** Starts a proxy before the server on a loopback port. */
export async function startFaultProxy(serverPort: number): Promise<FaultProxy> {
  const behaviour: Behaviour = { flights: 0, silent: false, delay: 0, held: undefined };
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
    join(client, upstream, behaviour);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const stall = () => sockets.forEach((socket) => socket.removeAllListeners("data").resume());
  const cut = () => sockets.forEach((socket) => socket.destroy());
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    flights: () => behaviour.flights,
    resetFlights: () => void (behaviour.flights = 0),
    dropReplies: () => void (behaviour.silent = true),
    restoreReplies: () => void Object.assign(behaviour, { silent: false, delay: 0 }),
    delayReplies: (milliseconds) => void (behaviour.delay = milliseconds),
    holdReplies: () => void (behaviour.held ??= []),
    releaseReplies: () => {
      behaviour.held?.forEach((send) => send());
      behaviour.held = undefined;
    },
    stall,
    cut,
    stop: () => {
      const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
      cut();
      return stopped;
    },
  };
}

function join(client: Socket, upstream: Socket, behaviour: Behaviour): void {
  let answered = true;
  client.on("data", (data) => {
    behaviour.flights += answered ? 1 : 0;
    answered = false;
    upstream.write(data);
  });
  upstream.on("data", (data) => {
    answered = true;
    if (behaviour.silent) {
      return;
    }
    const send = () => void (client.writable && client.write(data));
    if (behaviour.held !== undefined) {
      behaviour.held.push(send);
    } else if (behaviour.delay > 0) {
      setTimeout(send, behaviour.delay);
    } else {
      send();
    }
  });
}
