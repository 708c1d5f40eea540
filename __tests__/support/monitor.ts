import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Redis } from "ioredis";

/** A connection that sees all commands of a server. */
export interface Monitor {
  /** The connection by itself. */
  readonly client: Redis;
  /** Ends it when every command that was sent before was seen, and returns the commands that were. */
  stop(): Promise<string[][]>;
  disconnect(): void;
}

/**
 * Watches the commands of a client's server. Lines that arrive while the connection closes are no replies to ioredis
 * any more: it reports each as an error of its queue, which nobody would handle.
 */
export async function monitorOf(client: Redis): Promise<Monitor> {
  const monitor = await client.monitor();
  monitor.on("error", () => undefined);
  const seen: string[][] = [];
  monitor.on("monitor", (_, args: string[]) => seen.push(args));
  const disconnect = () => monitor.disconnect();
  const stop = async () => {
    const last = randomUUID();
    await client.ping(last);
    while (!seen.some((args) => args[1] === last)) {
      await once(monitor, "monitor");
    }
    disconnect();
    return seen.slice(
      0,
      seen.findIndex((args) => args[1] === last),
    );
  };
  return { client: monitor, stop, disconnect };
}
