import { readLog } from "../../src/store/contract/session-data.js";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { record } from "../../testing/session-store/store-case.js";
import { writeWhile } from "../support/busy-writers.js";
import { compare, nothingBroken } from "../support/journal-check.js";
import { startCluster } from "../../tools/testkit/servers/redis-cluster.js";
import { startSentinels } from "../../tools/testkit/servers/redis-sentinel.js";
import { onFreePort, startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { tlsFiles } from "../../tools/testkit/servers/tls-files.js";
import { untilAnswered } from "../support/until-answered.js";

describe("A server that speaks TLS and asks for the client's certificate", () => {
  const host = "localhost";
  const tls = tlsFiles({ asksClients: true });
  let server: PrivateRedis;
  let port: number;
  beforeAll(async () => {
    server = await onFreePort((free) => {
      port = free;
      return startRedis(tls.args(free));
    });
  });
  afterAll(async () => {
    await server.stop();
    tls.remove();
  });

  it("keeps what writers with a certificate are told, by ioredis 5 and 6", async () => {
    const options = { host, port, tls: tls.client };
    const clients = [new Redis(options), new Redis5(options)];
    const journal = await writeWhile({ clients: clients as RedisClient[], atLeast: 20 }, async () => undefined);
    expect(await compare(journal, clients[0] as RedisClient)).toEqual({ ...nothingBroken, acknowledged: 40 });
    clients.forEach((client) => client.disconnect());
  });

  it("refuses a client without one, which is a typed error within the command timeout", async () => {
    const store = new RedisSessionStore({ config: { host, port, tls: { ca: tls.client.ca } }, commandTimeout: 2_000 });
    await expect(store.append({ id: "s" }, { records: [record("a")] })).rejects.toMatchObject({
      name: "StoreError",
      code: expect.stringMatching(/^(unavailable|timeout)$/),
    });
    await store.close();
  });
});

describe("TLS between all processes", () => {
  const tls = tlsFiles();
  afterAll(() => tls.remove());

  it("keeps in a Cluster what writers are told, by ioredis 5 and 6", async () => {
    const cluster = await startCluster(3, tls);
    const options = { redisOptions: { tls: tls.client } };
    const clients = [new Cluster([...cluster.nodes], options), new Cluster5([...cluster.nodes], options)];
    const journal = await writeWhile(
      { clients: clients as RedisClient[], atLeast: 20, sessionCount: 6 },
      async () => undefined,
    );
    expect(await compare(journal, clients[0] as RedisClient)).toEqual({ ...nothingBroken, acknowledged: 40 });
    clients.forEach((client) => client.disconnect());
    await cluster.stop();
  });

  it("follows Sentinels to a new master, with the connections that the package opens", async () => {
    const setup = await startSentinels({ tls, downAfter: 500 });
    const { sentinels, name, master, untilPromoted } = setup;
    const config = {
      ...{ sentinels: [...sentinels], name },
      ...{ tls: tls.client, sentinelTLS: tls.client, enableTLSForSentinelMode: true },
    };
    const store = new RedisSessionStore({ config, commandTimeout: 2_000, waitReplicas: 1 });
    await untilAnswered(() => store.append({ id: "s" }, { records: [record("a")] }));
    master.process.kill("SIGKILL");
    await untilPromoted();
    // The new master has no replica, so the store says of its writes that nobody else has them.
    await expect(untilAnswered(() => readLog(store, { id: "s" }))).resolves.toMatchObject({ next: 1, damaged: false });
    await store.close();
    await setup.stop();
  });
});
