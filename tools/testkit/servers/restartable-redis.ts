import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onFreePort, startRedisOn, type PrivateRedis } from "./redis-server.js";

/** A server that keeps its data and its port when it is started again. */
export interface RestartableRedis {
  readonly port: number;
  readonly url: string;
  /** Ends the server by this signal and starts it again, with these settings besides; resolves when it answers. */
  restart(signal: "SIGKILL" | "SIGTERM", args?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server with these settings in a folder of its own. */
export async function startRestartableRedis(args: readonly string[]): Promise<RestartableRedis> {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-data-"));
  const start = (at: number, more: readonly string[] = []) => startRedisOn(at, ["--dir", folder, ...args, ...more]);
  let server: PrivateRedis = await onFreePort(start);
  const { port } = server;
  return {
    port,
    url: server.url,
    restart: async (signal, more) => {
      const ended = once(server.process, "exit");
      server.process.kill(signal);
      await ended;
      await server.stop();
      server = await start(port, more);
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
