// Jest's own setup files do not go through moduleNameMapper; this finds `./a.ts` where `./a.js` is imported.
import "tsx/cjs";
import { buildCommandForTests } from "./built-command.js";
import { startRedis, type PrivateRedis } from "./redis-server.js";

declare global {
  var sharedRedis: PrivateRedis | undefined;
}

/**
 * One private server for all test files of the `redis` project, where each file keeps to key prefixes of its own; and
 * the command line, built.
 */
export default async function setup(): Promise<void> {
  [globalThis.sharedRedis] = await Promise.all([startRedis(), buildCommandForTests()]);
  process.env["TEST_REDIS_URL"] = globalThis.sharedRedis.url;
}
