// Jest's own setup files do not go through moduleNameMapper; this finds `./a.ts` where `./a.js` is imported.
import "tsx/cjs";
import { buildCommandForTests } from "./built-command.js";
import { buildPrograms, type BuiltPrograms } from "./built-programs.js";
import { commandHost } from "./hosted-commands.js";
import { startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";

declare global {
  var sharedRedis: PrivateRedis | undefined;
  var commandHostProgram: BuiltPrograms | undefined;
}

/**
 * One private server for all test files of the `redis` project, where each file keeps to key prefixes of its own; and
 * the command line, built, and the program that runs command lines for tests.
 */
export default async function setup(): Promise<void> {
  // Jest sets up each project, in an order that follows from the tests; that of `browser` calls this too.
  if (globalThis.sharedRedis !== undefined) {
    return;
  }
  [globalThis.sharedRedis, globalThis.commandHostProgram] = await Promise.all([
    startRedis(),
    buildPrograms([commandHost]),
    buildCommandForTests(),
  ]);
  process.env["TEST_COMMAND_HOST"] = globalThis.commandHostProgram.pathOf(commandHost);
  process.env["TEST_REDIS_URL"] = globalThis.sharedRedis.url;
}
