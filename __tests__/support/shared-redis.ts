import { randomUUID } from "node:crypto";

/** The URL of the private server that the test run started. */
export function sharedRedisUrl(): string {
  const url = process.env["TEST_REDIS_URL"];
  if (url === undefined) {
    throw new Error("No private Redis server was started: name the test file *.redis.test.ts.");
  }
  return url;
}

/** A key prefix that no other test uses. */
export function uniquePrefix(): string {
  return `test-${randomUUID()}`;
}
