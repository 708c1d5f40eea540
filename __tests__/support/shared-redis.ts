import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";

/** The URL of the private server that the test run started. */
export function sharedRedisUrl(): string {
  const url = process.env["TEST_REDIS_URL"];
  if (url === undefined) {
    throw new Error("No private Redis server was started: name the test file *.redis.test.ts.");
  }
  return url;
}

/** A client of that server, opened by its first command and closed behind the last test. */
export function sharedClient(): Redis {
  const client = new Redis(sharedRedisUrl(), { lazyConnect: true });
  afterAll(() => client.disconnect());
  return client;
}

/** A key prefix that no other test uses. */
export function uniquePrefix(): string {
  return `test-${randomUUID()}`;
}
