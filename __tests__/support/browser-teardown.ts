// Jest's own teardown files do not go through moduleNameMapper; this finds `./a.ts` where `./a.js` is imported.
import "tsx/cjs";
import teardownRedis from "./redis-teardown.js";

export default async function teardown(): Promise<void> {
  await globalThis.sharedBrowser?.close();
  await teardownRedis();
}
