import { Cluster } from "ioredis";
import { startCluster, type PrivateCluster } from "../../tools/testkit/servers/redis-cluster.js";

/** A Cluster of a test's own, and a client on it. */
export interface OwnCluster {
  readonly cluster: PrivateCluster;
  readonly client: Cluster;
}

/** Starts a Cluster before the first test, and stops it after the last; nothing can be read of the result before. */
export function ownCluster(masters: number): OwnCluster {
  const own: { cluster?: PrivateCluster; client?: Cluster } = {};
  beforeAll(async () => {
    own.cluster = await startCluster(masters);
    own.client = new Cluster([...own.cluster.nodes]);
  });
  afterAll(async () => {
    own.client?.disconnect();
    await own.cluster?.stop();
  });
  return own as OwnCluster;
}
