import { jsonLines } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { onNode } from "../../tools/testkit/servers/redis-cluster.js";
import { startSentinels, type PrivateSentinels } from "../../tools/testkit/servers/redis-sentinel.js";
import type { PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { startReplicatedCluster, type ReplicatedCluster } from "../../tools/testkit/servers/replicated-cluster.js";
import { until } from "../../tools/testkit/servers/until.js";

const run = hostedCommands();

/** Settings with which a single server leaves nothing to say. */
const wellSet = ["maxmemory", "500mb", "maxmemory-policy", "noeviction", "appendonly", "yes", "save", ""] as const;

async function configure(server: PrivateRedis, ...settings: string[]): Promise<void> {
  await onNode(server, (node) => node.call("CONFIG", "SET", ...settings));
}

interface Found {
  readonly server: string;
  readonly check: string;
  readonly level: string;
}

async function doctor(url: string) {
  const { exitCode, output, errors } = await run(["doctor", "--json", "--url", url]);
  const found = jsonLines(output) as unknown as Found[];
  // How quickly the servers answer depends on what else the machine does.
  const judged = found.filter(({ check, level }) => level !== "ok" && check !== "latency");
  const wrong = judged.map(({ check, level }) => `${check}: ${level}`);
  return { exitCode, errors, wrong, servers: [...new Set(found.map(({ server }) => server))] };
}

describe("the exit codes of doctor behind Sentinels", () => {
  let sentinels: PrivateSentinels;
  const address = ({ port }: PrivateRedis) => `127.0.0.1:${port}`;

  beforeAll(async () => {
    sentinels = await startSentinels({ downAfter: 500 });
    await configure(sentinels.master, ...wellSet, "min-replicas-to-write", "1");
    await configure(sentinels.replica, ...wellSet, "min-replicas-to-write", "1");
  });
  afterAll(() => sentinels.stop());

  it("are 0 where the master has a replica, and the master is named by its own address", async () => {
    expect(await doctor(sentinels.url)).toEqual({
      ...{ exitCode: 0, errors: "", wrong: [], servers: [address(sentinels.master)] },
    });
  });

  it("are 4 for a master that needs no replica to write, and for a replica", async () => {
    await configure(sentinels.master, "min-replicas-to-write", "0");
    expect(await doctor(sentinels.url)).toMatchObject({ exitCode: 4, wrong: ["replicas: warning"] });
    expect(await doctor(sentinels.replica.url)).toMatchObject({ exitCode: 4, wrong: ["replicas: warning"] });
  });

  it("are 3 while there is no master, then those of the replica that was promoted", async () => {
    await sentinels.master.stop();
    expect(await doctor(sentinels.url)).toMatchObject({ exitCode: 3, wrong: [] });
    await sentinels.untilPromoted();
    await until("a master", async () => (await doctor(sentinels.url)).exitCode === 4);
    expect(await doctor(sentinels.url)).toMatchObject({
      ...{ wrong: ["replicas: warning"], servers: [address(sentinels.replica)] },
    });
  });
});

describe("the exit codes of doctor on a Cluster with replicas", () => {
  let cluster: ReplicatedCluster;
  const url = (at = 0) => `redis://127.0.0.1:${cluster.nodes[at]!.port}`;

  beforeAll(async () => {
    cluster = await startReplicatedCluster(3, 1_000);
    await Promise.all(cluster.nodes.map(({ server }) => configure(server, ...wellSet, "min-replicas-to-write", "1")));
  });
  afterAll(() => cluster.stop());

  it("are 0 where each master has its replica, asked through any node", async () => {
    const masters = cluster.nodes.slice(0, 3).map(({ port }) => `127.0.0.1:${port}`);
    for (const at of [0, 5]) {
      const { servers, ...rest } = await doctor(url(at));
      expect(rest).toEqual({ exitCode: 0, errors: "", wrong: [] });
      expect([...servers].sort()).toEqual([...masters].sort());
    }
  });

  it("are 4 where one master lost its replica", async () => {
    const { master, replica } = await cluster.holdersOf("k");
    await cluster.kill(replica);
    await until("the loss is seen", async () =>
      (await onNode(master.server, (node) => node.info("replication"))).includes("connected_slaves:0"),
    );
    const living = cluster.nodes.indexOf(master);
    expect(await doctor(url(living))).toMatchObject({ exitCode: 4, wrong: ["replicas: warning"] });
  });

  it("are 1 where nobody serves the slots of a master, which is named, or missed by the others", async () => {
    const { master } = await cluster.holdersOf("k");
    const other = cluster.nodes.slice(0, 3).findIndex((node) => node !== master);
    await cluster.kill(master);
    expect(await doctor(url(other))).toMatchObject({ exitCode: 1, errors: "" });
    await until("the slots are missed", async () => (await doctor(url(other))).wrong.includes("cluster: problem"));
    expect(await doctor(url(other))).toMatchObject({ exitCode: 1, errors: "" });
  });
});
