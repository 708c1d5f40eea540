/** @jest-config-loader esbuild-register */
import { availableParallelism } from "node:os";
import type { Config } from "jest";

const shared: Config = {
  testEnvironment: "<rootDir>/__tests__/support/one-realm-environment.cjs",
  runtime: "<rootDir>/__tests__/support/shared-packages-runtime.cjs",
  // Node.js itself uses it, in the one realm.
  fakeTimers: { doNotFake: ["nextTick"] },
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { target: "es2022", parser: { syntax: "typescript" } }, module: { type: "commonjs" } },
    ],
  },
  moduleNameMapper: {
    "^(\\.{1,2}/.*)\\.js$": "$1",
    "^langchain-redis-memory$": "<rootDir>/src/entries/index.ts",
    "^langchain-redis-memory/agent$": "<rootDir>/src/entries/agent.ts",
    "^langchain-redis-memory/openai$": "<rootDir>/src/entries/openai.ts",
    "^langchain-redis-memory/tool-loop$": "<rootDir>/src/entries/tool-loop.ts",
    "^langchain-redis-memory/sessions$": "<rootDir>/src/entries/sessions.ts",
    "^langchain-redis-memory/structure$": "<rootDir>/src/entries/structure.ts",
    "^langchain-redis-memory/checkpoint$": "<rootDir>/src/entries/checkpoint.ts",
    "^langchain-redis-memory/runs$": "<rootDir>/src/entries/runs.ts",
    "^langchain-redis-memory/otel$": "<rootDir>/src/entries/otel.ts",
    "^langchain-redis-memory/testing$": "<rootDir>/testing/index.ts",
  },
  modulePathIgnorePatterns: ["<rootDir>/dist/", "<rootDir>/tools/benchmarks/", "<rootDir>/.cache/"],
};

/** The tests of the package. `redis` starts private servers, see `tools/testkit/servers/redis-server.ts`. */
const tests: Config["projects"] = [
  {
    ...shared,
    displayName: "unit",
    testMatch: ["<rootDir>/__tests__/**/*.test.ts"],
    testPathIgnorePatterns: ["\\.(redis|browser|program)\\.test\\.ts$"],
  },
  {
    ...shared,
    displayName: "redis",
    testMatch: ["<rootDir>/__tests__/**/*.redis.test.ts"],
    globalSetup: "<rootDir>/__tests__/support/redis-setup.ts",
    globalTeardown: "<rootDir>/__tests__/support/redis-teardown.ts",
  },
];

/** What users run and see: the examples, the demo and the programs of the guides, and the pages in a Chromium. */
const programs: Config["projects"] = [
  {
    ...shared,
    displayName: "program",
    testMatch: ["<rootDir>/__tests__/**/*.program.test.ts"],
    globalSetup: "<rootDir>/__tests__/support/redis-setup.ts",
    globalTeardown: "<rootDir>/__tests__/support/redis-teardown.ts",
  },
  {
    ...shared,
    displayName: "browser",
    testMatch: ["<rootDir>/__tests__/**/*.browser.test.ts"],
    globalSetup: "<rootDir>/__tests__/support/browser-setup.ts",
    globalTeardown: "<rootDir>/__tests__/support/browser-teardown.ts",
  },
];

const config: Config = {
  // More workers than cores, because many tests wait for servers. Not as a percentage: Jest takes "200%" for 200.
  maxWorkers: availableParallelism() * 2,
  testSequencer: "<rootDir>/__tests__/support/longest-first-sequencer.cjs",
  // Ends what hangs; how fast the machine is decides nothing.
  testTimeout: 240_000,
  // Jest's option for projects takes no pattern of paths beside it, so the name of npm's script decides.
  projects: process.env["npm_lifecycle_event"] === "test:programs" ? programs : tests,
};

export default config;
