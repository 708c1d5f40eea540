import { Cluster } from "ioredis";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { jsonLines } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human } from "../support/messages.js";
import { onNode, startCluster, type PrivateCluster } from "../../tools/testkit/servers/redis-cluster.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";

const run = hostedCommands();
const ids = Array.from({ length: 12 }, (_, index) => `s${index}`);
let cluster: PrivateCluster;
let client: Cluster;
let url: string;

beforeAll(async () => {
  cluster = await startCluster(3);
  client = new Cluster([...cluster.nodes]);
  url = `redis://127.0.0.1:${cluster.nodes[0]!.port}`;
  const memory = new RedisChatMemory({ client });
  await Promise.all(ids.map((id) => memory.history(id).addMessages([human("Oslo?"), ai("4 °C.")])));
  const record = JSON.stringify({ type: "human", data: { content: "Rome?" } });
  await Promise.all(ids.map((id) => client.rpush(`message_store:${id}`, record)));
});

afterAll(async () => {
  client.disconnect();
  await cluster.stop();
});

describe.each([[[]], [["--cluster"]]])("on a node of a Cluster, with %j, the command", (flags) => {
  const command = (...args: readonly string[]) => run([...args, "--url", url, ...flags]);

  it("sessions lists the sessions of all nodes", async () => {
    const { exitCode, output, errors } = await command("sessions", "--json");
    expect([exitCode, errors]).toEqual([0, ""]);
    expect(new Set(jsonLines(output).map(({ sessionId }) => sessionId))).toEqual(new Set(ids));
  });

  it("stats counts those of all nodes", async () => {
    const { exitCode, output } = await command("stats", "--json");
    expect([exitCode, jsonLines(output)[0]]).toEqual([0, expect.objectContaining({ sessions: 12, messages: 24 })]);
  });

  it("check --all checks all", async () => {
    expect(await command("check", "--all")).toMatchObject({
      exitCode: 0,
      output: "12 sessions checked, 0 findings.\n",
    });
  });

  it("export --all writes all", async () => {
    const { exitCode, errors, output } = await command("export", "--all", "--format", "openai");
    expect([exitCode, errors]).toEqual([0, "12 sessions exported.\n"]);
    expect(jsonLines(output)).toHaveLength(12);
  });

  it("show shows a session of any node", async () => {
    for (const id of ids) {
      expect(await command("show", id)).toMatchObject({ exitCode: 0, errors: "" });
    }
  });

  it("migrate copies the lists of all nodes", async () => {
    const prefix = `copied${flags.length}`;
    const { exitCode, output } = await command("migrate", "--pattern", "message_store:*", "--prefix", prefix);
    expect([exitCode, output]).toEqual([0, expect.stringContaining("12 sessions, 12 messages")]);
    expect(output).toContain("12 messages stored now, 0 before.");
  });

  it("doctor takes no redirection for a refusal", async () => {
    const { output } = await command("doctor", "--json");
    const found = jsonLines(output) as { check: string; level: string; found: string }[];
    expect(found.filter(({ check }) => check === "permissions")).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ level: "ok" }) as unknown),
    );
    expect(found.filter(({ check }) => check === "cluster").map(({ level }) => level)).toEqual(["ok", "ok", "ok"]);
  });
});

describe("a Cluster", () => {
  const nodes = async (...command: [string, ...string[]]) => {
    await Promise.all(cluster.servers.map((server) => onNode(server, (node) => node.call(...command))));
  };

  it("is found out by a user who may not run INFO, and whose login stands in the URL", async () => {
    await nodes("ACL", "SETUSER", "blind", "on", ">pw", "~*", "+@all", "-info");
    const { exitCode, output } = await run(["sessions", "--json", "--url", url.replace("//", "//blind:pw@")]);
    expect([exitCode, jsonLines(output).length]).toEqual([0, 12]);
  });

  it("is named by the doctor where a user may not run a command", async () => {
    await nodes("ACL", "SETUSER", "worker", "on", ">pw", "~*", "+@all", "-rpush");
    const { output } = await run(["doctor", "--json", "--url", url.replace("//", "//worker:pw@")]);
    const found = (jsonLines(output) as { check: string; found: string }[]).filter(
      ({ check }) => check === "permissions",
    );
    expect(found.map((finding) => finding.found)).toEqual(Array(3).fill("this user may not run: rpush"));
  });

  it("is asked for by --cluster, which refuses a server that is none", async () => {
    const single = await startRedis();
    try {
      const { exitCode, errors } = await run(["sessions", "--cluster", "--url", single.url]);
      expect(exitCode).toBe(2);
      expect(errors).toMatch(/^Redis at 127\.0\.0\.1:\d+ is no node of a Cluster\. Leave --cluster out, or/);
    } finally {
      await single.stop();
    }
  });
});
