// The sets of peers that the packed package is tried with: the newest (as in the lockfile) and the lowest that
// package.json allows.
import { readFileSync } from "node:fs";

const root = new URL("../..", import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, root), "utf8"));
const { peerDependencies: peers } = read("package.json");
const { packages } = read("package-lock.json");

/** A package with the version that the lockfile holds, for `npm install`. */
export function locked(name, alias = name) {
  return `${name}@${packages[`node_modules/${alias}`].version}`;
}

const newestRedis = [locked("ioredis"), locked("ioredis", "ioredis5")];
const lowestRedis = lowest("ioredis");
// The newest LangGraph wants a newer core than the one in the lockfile; left to itself, npm looks for a way out for
// many minutes.
export const newestGraph = ["@langchain/langgraph", "@langchain/langgraph-checkpoint"].map((name) => locked(name));

/** Where only the main entry and `./testing` are used: no optional peer is installed. */
export const mainSets = [
  ...newestRedis.map((redis) => ({ peers: [locked("@langchain/core"), redis] })),
  ...lowestRedis.map((redis) => ({ peers: [...lowest("@langchain/core"), redis] })),
];

/**
 * Where `./agent` is used. The lowest langchain asks for core 1.0.5; its LangGraph is the one of its time, because the
 * newest wants a newer core.
 */
export const agentSets = [
  { peers: [locked("@langchain/core"), locked("langchain"), ...newestGraph, newestRedis[0]] },
  {
    peers: [
      "@langchain/core@1.0.5",
      ...lowest("langchain"),
      "@langchain/langgraph@1.0.2",
      "@langchain/langgraph-checkpoint@1.0.0",
      lowestRedis[0],
    ],
    // Its own declarations have an unused @ts-expect-error.
    skipLibCheck: true,
  },
];

/**
 * Where `./otel` is used: with the newest API that the range allows, which may be newer than our SDK's, and the lowest.
 */
export const otelSets = [`@opentelemetry/api@${peers["@opentelemetry/api"]}`, ...lowest("@opentelemetry/api")].map(
  (api) => ({ peers: [locked("@langchain/core"), newestRedis[0], api] }),
);

/**
 * The lowest versions of LangChain's adapters through which every request of the matrix is valid. ChatAnthropic before
 * them leaves out calls beside blocks, ChatGoogle sends steps of Google's code with a key that the API refuses, and
 * ChatGoogleGenerativeAI throws at thoughts.
 */
export const lowestAdapters = {
  // The lowest that these allow, but that ChatGoogle 0.2.1 tries failed requests again and again with one before 1.2.
  "@langchain/core": "1.2.1",
  "@langchain/openai": "1.0.0",
  "@langchain/anthropic": "1.4.0",
  "@langchain/google": "0.2.1",
  "@langchain/google-genai": "2.1.26",
  "@langchain/mistralai": "1.0.0",
  "@langchain/aws": "1.0.0",
  "@langchain/deepseek": "1.0.0",
};

/** The lowest version of each alternative of a peer's range. */
function lowest(name) {
  return peers[name].split("||").map((range) => `${name}@${range.trim().replace(/^[\^~]/, "")}`);
}
