import { Redis } from "ioredis";
import { allLeastCommands } from "../../../cli/doctor/least-commands.js";
import type { PrivateRedis } from "./redis-server.js";

/** How a client says that it is the user with the least commands. */
export const leastUser = { username: "least", password: "pw" };

/** Arguments of a server that knows this user, also after it began again. */
export const leastUserArgs: readonly string[] = [
  ...["--user", leastUser.username, "on", `>${leastUser.password}`, "~*"],
  ...allLeastCommands.map((command) => `+${command}`),
];

/**
 * Commands that a server refused to users. ioredis sends a name to servers that know CLIENT SETINFO (Redis from 7.2 on,
 * Valkey), and goes on where they refuse it; older ones have no such command to allow.
 */
export async function refusals(client: Redis): Promise<unknown[]> {
  const entries = (await client.call("ACL", "LOG")) as unknown[][];
  return entries.filter((entry) => !entry.includes("client|setinfo"));
}

/** Commands that servers refused to users, and the commands that they received. */
export async function refusalsAndUse(
  servers: readonly PrivateRedis[],
  commands: readonly string[],
): Promise<{ refused: unknown[]; used: string[] }> {
  const refused: unknown[] = [];
  const used = new Set<string>();
  for (const { port } of servers) {
    const client = new Redis({ port, host: "127.0.0.1" });
    refused.push(...(await refusals(client)));
    const stats = await client.info("commandstats");
    commands.filter((command) => stats.includes(`cmdstat_${command}:`)).forEach((command) => used.add(command));
    client.disconnect();
  }
  return { refused, used: [...used].sort() };
}
