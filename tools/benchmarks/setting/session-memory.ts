import type { Redis } from "ioredis";

/** MEMORY USAGE of all keys of a session whose id ends with 36 characters of its own. */
export async function memoryOf(client: Redis, session: string): Promise<number> {
  // The server is private, and its keys are few.
  const keys = await client.keys(`*${session.slice(-36)}*`);
  const sizes = await Promise.all(
    keys.map(async (key) => Number(await client.call("MEMORY", "USAGE", key, "SAMPLES", "0"))),
  );
  if (sizes.length === 0) {
    throw new Error("The session has no keys.");
  }
  return sizes.reduce((sum, size) => sum + size, 0);
}
