import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import type { RedisSaverSettings } from "../../src/langgraph/checkpoint/thread-wire.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { ownCluster } from "../support/own-cluster.js";

/** The part of upstream's suite that is used. */
interface Validation {
  specTest(initializer: Initializer): void;
  deltaChannelHistoryTests(initializer: Initializer): void;
}

interface Initializer {
  readonly checkpointerName: string;
  createCheckpointer(): BaseCheckpointSaver;
  destroyCheckpointer(saver: BaseCheckpointSaver): Promise<void>;
}

// Written for another runner: what fails softly there fails at once here.
Object.assign(expect, { soft: expect });
const suite = jest.requireActual<Validation>("@langchain/langgraph-checkpoint-validation");

function conforms(name: string, open: (keyPrefix: string) => RedisSaver): void {
  const initializer: Initializer = {
    checkpointerName: name,
    createCheckpointer: () => open(uniquePrefix()),
    destroyCheckpointer: (saver) => (saver as RedisSaver).close(),
  };
  suite.specTest(initializer);
  suite.deltaChannelHistoryTests(initializer);
}

const forms: readonly (readonly [string, RedisSaverSettings])[] = [
  ["RedisSaver", {}],
  ["RedisSaver with threadTTL and keep", { threadTTL: { seconds: 600, refreshOnRead: true }, keep: 50 }],
  ["RedisSaver with encryption", { encryption: testKeys("k2", "k1") }],
];

describe.each(forms)("Upstream's suite on %s", (name, settings) => {
  conforms(name, (keyPrefix) => RedisSaver.fromUrl(sharedRedisUrl(), { ...settings, keyPrefix }));
});

describe("Upstream's suite on a cluster", () => {
  const own = ownCluster(3);
  conforms("RedisSaver on a cluster", (keyPrefix) => new RedisSaver({ client: own.client, keyPrefix }));
});
