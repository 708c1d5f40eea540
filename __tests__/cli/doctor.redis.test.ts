import { serverFindings } from "../../cli/doctor/server-findings.js";
import type { ServerFacts } from "../../cli/doctor/server-facts.js";
import { jsonLines, runCommand } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { ownServer } from "../support/own-server.js";
import { onNode } from "../../tools/testkit/servers/redis-cluster.js";
import { startSentinels, type PrivateSentinels } from "../../tools/testkit/servers/redis-sentinel.js";
import { startReplicatedCluster, type ReplicatedCluster } from "../../tools/testkit/servers/replicated-cluster.js";
import { until } from "../../tools/testkit/servers/until.js";

const run = hostedCommands();
const own = ownServer(startRedis);

async function doctor(env: Record<string, string> = {}) {
  const { exitCode, output, errors } = await run(["doctor", "--json", "--url", own.server.url], { env });
  const found = jsonLines(output) as unknown as { check: string; level: string; found: string; advice: string }[];
  return { exitCode, errors, levels: Object.fromEntries(found.map(({ check, level }) => [check, level])), found };
}

describe("the command doctor", () => {
  it("finds nothing to change in a server that is set up as the guide says", async () => {
    await own.client.config("SET", "maxmemory", "500mb", "maxmemory-policy", "noeviction", "appendonly", "yes");
    const { exitCode, levels, errors } = await doctor();
    expect(errors).toBe("");
    // A single server lacks a replica; all else is as it should be.
    expect(levels).toEqual({
      ...{ version: "ok", eviction: "ok", memory: "ok", persistence: "ok", replicas: "warning" },
      ...{ latency: expect.any(String), "slow log": "ok", permissions: "ok" },
    });
    expect(exitCode).toBe(4);
    expect((await run(["doctor", "--url", own.server.url])).output).toMatch(/\n0 problems, [12] warnings?\.\n$/);
  });

  it("says what is wrong with a server that removes keys and stores nothing", async () => {
    await own.client.config("SET", "maxmemory", "500mb", "maxmemory-policy", "allkeys-lru", "appendonly", "no");
    const { exitCode, levels, found } = await doctor();
    expect(levels).toMatchObject({ eviction: "problem", persistence: "warning" });
    expect(found.find(({ check }) => check === "eviction")?.advice).toContain("noeviction");
    expect(exitCode).toBe(1);
  });

  it("names the commands that a user may not run, and writes nothing to find out", async () => {
    await own.client.acl("SETUSER", "worker", "on", ">pw", "~*", "+@all", "-rpush", "-evalsha");
    const before = await own.client.dbsize();
    const { found } = await doctor({ REDIS_USERNAME: "worker", REDIS_PASSWORD: "pw" });
    const permissions = found.find(({ check }) => check === "permissions")!;
    expect(permissions).toMatchObject({ level: "problem" });
    expect(permissions.found).toBe("worker may not run: evalsha, rpush");
    expect(await own.client.dbsize()).toBe(before);
    // What it tells to type is enough.
    const [, line] = /Grant them: ACL (SETUSER worker .*)$/.exec(permissions.advice)!;
    await own.client.call("ACL", ...line!.split(" "));
    const granted = await doctor({ REDIS_USERNAME: "worker", REDIS_PASSWORD: "pw" });
    expect(granted.levels).toMatchObject({ permissions: "ok" });
  });

  it("notes which commands of single parts a user may not run", async () => {
    await own.client.acl("SETUSER", "least", "on", ">pw", "~*", "+@all", "-zlexcount", "-zrangebylex", "-xtrim");
    const { found } = await doctor({ REDIS_USERNAME: "least", REDIS_PASSWORD: "pw" });
    const permissions = found.filter(({ check }) => check === "permissions");
    expect(permissions.map(({ level, found: said, advice }) => [level, said, advice])).toEqual([
      ["ok", "least may run every command that the package needs", ""],
      ["note", "least may not run: zlexcount", "Only RedisSaver needs them. Grant them: ACL SETUSER least +zlexcount"],
      [
        "note",
        "least may not run: zrangebylex",
        "Only RedisStore needs them. Grant them: ACL SETUSER least +zrangebylex",
      ],
      ["note", "least may not run: xtrim", "Only redisRuns needs them. Grant them: ACL SETUSER least +xtrim"],
    ]);
  });

  it("says which questions a user may not ask", async () => {
    await own.client.acl("SETUSER", "blind", "on", ">pw", "~*", "+@all", "-info", "-slowlog", "-config");
    const env = { REDIS_USERNAME: "blind", REDIS_PASSWORD: "pw" };
    const { output, errors } = await runCommand(["doctor", "--json", "--url", own.server.url], { env });
    const levels = Object.fromEntries(jsonLines(output).map(({ check, level }) => [check, level]));
    expect([levels, errors]).toEqual([expect.objectContaining({ server: "note", permissions: "ok" }), ""]);
  });

  it("finds slow scripts of this package", async () => {
    await own.client.config("SET", "slowlog-log-slower-than", "0");
    await own.client.eval("return 1", 1, "lcmem:{ann}:log");
    await own.client.config("SET", "slowlog-log-slower-than", "-1");
    const { found } = await doctor();
    expect(found.find(({ check }) => check === "slow log")).toMatchObject({ level: "warning" });
  });
});

describe("what the doctor finds", () => {
  const healthy = {
    ...{ redis_version: "7.2.4", maxmemory_policy: "noeviction", used_memory: "10", maxmemory: "100", role: "master" },
    ...{ aof_enabled: "1", connected_slaves: "1", rdb_last_bgsave_status: "ok" },
  };
  const facts: ServerFacts = {
    ...{ info: healthy, config: { "min-replicas-to-write": "1" }, cluster: undefined },
    ...{ roundTripMs: 0.2, slowScripts: [] },
  };
  const levelOf = (changed: Partial<ServerFacts>, check: string) =>
    serverFindings({ ...facts, ...changed }, 0)
      .filter((finding) => finding.check === check)
      .map(({ level }) => level);
  const info = (changed: Record<string, string>) => ({ info: { ...healthy, ...changed } });

  it("is nothing where all is well", () => {
    expect(serverFindings(facts, 0).every(({ level }) => level === "ok")).toBe(true);
  });

  it.each<[string, Partial<ServerFacts>, string, string[]]>([
    ["an old server", info({ redis_version: "6.0.16" }), "version", ["problem"]],
    ["any Valkey", info({ redis_version: "7.2.4", valkey_version: "8.0.1" }), "version", ["ok"]],
    ["memory that is nearly full", info({ used_memory: "90" }), "memory", ["warning"]],
    ["no limit of memory", info({ maxmemory: "0" }), "memory", ["warning"]],
    ["a snapshot that failed", info({ rdb_last_bgsave_status: "err" }), "persistence", ["problem", "ok"]],
    ["a replica", info({ role: "slave" }), "replicas", ["warning"]],
    ["a master that needs no replica to write", { config: {} }, "replicas", ["warning"]],
    [
      "a cluster without all slots",
      { cluster: { cluster_state: "fail", cluster_slots_assigned: "9" } },
      "cluster",
      ["problem"],
    ],
    ["a far server", { roundTripMs: 30 }, "latency", ["warning"]],
    ["an old slow script", { slowScripts: [{ at: -1e9, milliseconds: 50, key: "k" }] }, "slow log", ["ok"]],
  ])("judges %s", (_, changed, check, levels) => {
    expect(levelOf(changed, check)).toEqual(levels);
  });
});

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

async function doctorOf(url: string) {
  const { exitCode, output, errors } = await run(["doctor", "--json", "--url", url]);
  const found = jsonLines(output) as unknown as Found[];
  const judged = found.filter(({ level }) => level !== "ok");
  const wrong = judged.filter(({ check }) => check !== "latency").map(({ check, level }) => `${check}: ${level}`);
  // How quickly the servers answer depends on what else the machine does; slow ones alone are a warning.
  const isSlow = exitCode === 4 && wrong.length === 0 && judged.length > 0;
  return { exitCode: isSlow ? 0 : exitCode, errors, wrong, servers: [...new Set(found.map(({ server }) => server))] };
}

describe("the exit codes of doctor behind Sentinels", () => {
  let sentinels: PrivateSentinels;
  const address = ({ port }: PrivateRedis) => `127.0.0.1:${port}`;

  beforeAll(async () => {
    sentinels = await startSentinels({ downAfter: 600_000 });
    await configure(sentinels.master, ...wellSet, "min-replicas-to-write", "1");
    await configure(sentinels.replica, ...wellSet, "min-replicas-to-write", "1");
  });
  afterAll(() => sentinels.stop());

  it("are 0 where the master has a replica, and the master is named by its own address", async () => {
    expect(await doctorOf(sentinels.url)).toEqual({
      ...{ exitCode: 0, errors: "", wrong: [], servers: [address(sentinels.master)] },
    });
  });

  it("are 4 for a master that needs no replica to write, and for a replica", async () => {
    await configure(sentinels.master, "min-replicas-to-write", "0");
    expect(await doctorOf(sentinels.url)).toMatchObject({ exitCode: 4, wrong: ["replicas: warning"] });
    expect(await doctorOf(sentinels.replica.url)).toMatchObject({ exitCode: 4, wrong: ["replicas: warning"] });
  });

  it("are 3 while there is no master, then those of the replica that was promoted", async () => {
    await sentinels.master.stop();
    expect(await doctorOf(sentinels.url)).toMatchObject({ exitCode: 3, wrong: [] });
    await sentinels.noticeSilence(500);
    await sentinels.untilPromoted();
    await until("a master", async () => (await doctorOf(sentinels.url)).exitCode === 4);
    expect(await doctorOf(sentinels.url)).toMatchObject({
      ...{ wrong: ["replicas: warning"], servers: [address(sentinels.replica)] },
    });
  });
});

describe("the exit codes of doctor on a Cluster with replicas", () => {
  let cluster: ReplicatedCluster;
  const url = (at = 0) => `redis://127.0.0.1:${cluster.nodes[at]!.port}`;

  beforeAll(async () => {
    cluster = await startReplicatedCluster(3, 10_000);
    await Promise.all(cluster.nodes.map(({ server }) => configure(server, ...wellSet, "min-replicas-to-write", "1")));
  });
  afterAll(() => cluster.stop());

  it("are 0 where each master has its replica, asked through any node", async () => {
    const masters = cluster.nodes.slice(0, 3).map(({ port }) => `127.0.0.1:${port}`);
    for (const at of [0, 5]) {
      const { servers, ...rest } = await doctorOf(url(at));
      expect(rest).toEqual({ exitCode: 0, errors: "", wrong: [] });
      expect([...servers].sort()).toEqual([...masters].sort());
    }
  });

  it("are 4 where one master lost its replica", async () => {
    await cluster.kill(cluster.nodes[3]!);
    await until("the loss is seen", async () =>
      (await onNode(cluster.nodes[0]!.server, (node) => node.info("replication"))).includes("connected_slaves:0"),
    );
    expect(await doctorOf(url())).toMatchObject({ exitCode: 4, wrong: ["replicas: warning"] });
  });

  it("are 1 where nobody serves the slots of a master, which is named, or missed by the others", async () => {
    await cluster.kill(cluster.nodes[0]!);
    expect(await doctorOf(url(1))).toMatchObject({ exitCode: 1, errors: "" });
    const living = cluster.nodes.filter(({ server: { process } }) => process.signalCode === null);
    await Promise.all(living.map(({ server }) => configure(server, "cluster-node-timeout", "1000")));
    await until("the slots are missed", async () => (await doctorOf(url(1))).wrong.includes("cluster: problem"));
    expect(await doctorOf(url(1))).toMatchObject({ exitCode: 1, errors: "" });
  });
});
