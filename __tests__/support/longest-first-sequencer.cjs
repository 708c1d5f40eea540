"use strict";
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { default: Sequencer } = require("@jest/test-sequencer");

/**
 * Files that take longest. Without the times of an earlier run, as after a checkout, Jest begins with the largest
 * files: a small one that takes a minute would be the last, beside an idle core.
 */
const longest = [
  "wire/matrix.test.ts",
  "topology/cluster.redis.test.ts",
  "fault/connection-failures.redis.test.ts",
  "wire/doors.test.ts",
  "sessions/erased-under-way.redis.test.ts",
  "runs/lost-runs.redis.test.ts",
  "turns/doors-and-events/killed-processes.test.ts",
  "contract/redis-session-store.redis.test.ts",
  "agent-api/agent-api.redis.test.ts",
  "cli/doctor.redis.test.ts",
  "cli/transfer.redis.test.ts",
  "turns/doors-and-events/doors-and-events.redis.test.ts",
  "turns/stored-once.property.redis.test.ts",
  "fault/sentinel.redis.test.ts",
  "topology/sentinel-failovers.redis.test.ts",
  "topology/restarts.redis.test.ts",
  "contract/sealed-session-store.redis.test.ts",
  "checkpoint/conformance.redis.test.ts",
  "contract/composed-stores.test.ts",
].map((file) => join(__dirname, "..", file));

/** Runs the longest files first, and the others in Jest's order. */
module.exports = class LongestFirstSequencer extends Sequencer {
  sort(tests) {
    const gone = longest.filter((file) => !existsSync(file));
    if (gone.length > 0) {
      throw new Error(`Set the names in ${__filename}: there is no ${gone.join(", ")}.`);
    }
    const sorted = super.sort(tests);
    const first = longest.flatMap((file) => sorted.filter(({ path }) => path === file));
    return [...first, ...sorted.filter((test) => !first.includes(test))];
  }
};
