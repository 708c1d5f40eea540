// A private Redis server for the programs that check the package.
import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// What the tests installed, where they installed one.
const installed = fileURLToPath(new URL("../../.cache/redis-server", import.meta.url));

/**
 * Starts a server without persistence that listens on a socket in this folder; returns the socket and how to end it.
 */
export function startRedis(folder) {
  const program = [process.env.REDIS_SERVER_BIN || "redis-server", installed].find(
    (name) => spawnSync(name, ["--version"]).status === 0,
  );
  if (program === undefined) {
    throw new Error("No redis-server found; install one, or set REDIS_SERVER_BIN to its path.");
  }
  const socket = join(folder, "redis.sock");
  const options = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder];
  const server = spawn(program, options, { stdio: "ignore" });
  return { socket, stop: () => server.kill("SIGKILL") };
}
