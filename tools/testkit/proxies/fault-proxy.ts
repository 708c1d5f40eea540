import type { Socket } from "node:net";
import { startTcpProxy } from "./tcp-proxy.js";

/** The place of a cut: before the server gets the request, after it answered, or inside its answer. */
export type CutPlace = "before" | "after" | "inside";

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
  /** Cuts the connection on which so many more bytes of replies have arrived; the rest of them is lost. */
  cutAfter(bytes: number): void;
  /** Ends `cutAfter()`. */
  cutNoMore(): void;
  /** Cuts the connections of the next exchanges that may write (scripts) at this place. */
  cutNext(place: CutPlace, exchanges: number): void;
  stop(): Promise<void>;
}

interface Behaviour {
  flights: number;
  silent: boolean;
  delay: number;
  /** The replies that `releaseReplies()` sends; undefined while replies pass. */
  held: (() => void)[] | undefined;
  /** Bytes of replies until a cut; infinite where none is asked for. */
  bytesLeft: number;
  cuts: { readonly place: CutPlace; left: number };
}

/** Starts a proxy before the server on a loopback port. */
export async function startFaultProxy(serverPort: number): Promise<FaultProxy> {
  const behaviour: Behaviour = {
    ...{ flights: 0, silent: false, delay: 0, held: undefined, bytesLeft: Infinity },
    cuts: { place: "before", left: 0 },
  };
  const target = { host: "127.0.0.1", port: serverPort };
  const { port, cut, stall, stop } = await startTcpProxy(target, (client, upstream) =>
    join(client, upstream, behaviour),
  );
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
    cut: () => cut(),
    cutAfter: (bytes) => void (behaviour.bytesLeft = bytes),
    cutNoMore: () => void (behaviour.bytesLeft = Infinity),
    cutNext: (place, exchanges) => void (behaviour.cuts = { place, left: exchanges }),
    stop,
  };
}

function join(client: Socket, upstream: Socket, behaviour: Behaviour): void {
  let answered = true;
  // A connection that is to be cut at its answer is marked by its question, so that the question is one that writes.
  let cutting: CutPlace | undefined;
  client.on("data", (data) => {
    behaviour.flights += answered ? 1 : 0;
    answered = false;
    if (behaviour.cuts.left > 0 && mayWrite(data)) {
      behaviour.cuts.left -= 1;
      cutting = behaviour.cuts.place;
    }
    if (cutting === "before") {
      client.destroy();
    } else {
      upstream.write(data);
    }
  });
  upstream.on("data", (data) => {
    answered = true;
    if (behaviour.silent) {
      return;
    }
    if (data.length >= behaviour.bytesLeft) {
      client.end(data.subarray(0, behaviour.bytesLeft));
      behaviour.bytesLeft = Infinity;
      upstream.removeAllListeners("data").resume();
      return;
    }
    behaviour.bytesLeft -= data.length;
    const send = () => void (client.writable && answer(client, data, cutting));
    if (behaviour.held !== undefined) {
      behaviour.held.push(send);
    } else if (behaviour.delay > 0) {
      setTimeout(send, behaviour.delay);
    } else {
      send();
    }
  });
}

function answer(client: Socket, data: Buffer, cutting: CutPlace | undefined): void {
  if (cutting === undefined) {
    client.write(data);
  } else if (cutting === "inside") {
    client.end(data.subarray(0, Math.ceil(data.length / 2)));
  } else {
    client.destroy();
  }
}

/** True for data that holds a script: only these write. */
function mayWrite(data: Buffer): boolean {
  return data.includes("\r\nevalsha\r\n") || data.includes("\r\neval\r\n");
}
