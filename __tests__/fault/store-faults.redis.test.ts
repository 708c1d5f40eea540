import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { Redis } from "ioredis";
import { StoreError } from "../../src/base/errors.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { asRead, record, records, texts } from "../../testing/session-store/store-case.js";
import { buildPrograms } from "../support/built-programs.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { freePort, startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { ownServer } from "../support/own-server.js";
import { untilAnswered } from "../support/until-answered.js";

describe("RedisSessionStore when replies are lost", () => {
  let proxy: FaultProxy;
  let direct: Redis;
  beforeEach(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    direct = new Redis(sharedRedisUrl());
  });
  afterEach(async () => {
    direct.disconnect();
    await proxy.stop();
  });

  const opened = async (options: object = {}) => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({
      // A silent connection is cut by the test and by nothing else.
      config: { host: "127.0.0.1", port: proxy.port, retryStrategy: () => 20, socketTimeout: 60_000 },
      keyPrefix,
      ...options,
    });
    await untilAnswered(() => store.append({ id: "warm" }, { records: [record("w")] }));
    return { store, keyPrefix };
  };
  const untilStored = async (keyPrefix: string, count: number) => {
    while ((await direct.llen(sessionKeys(keyPrefix, "s").log)) < count) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };

  it("adds nothing twice if the client itself resends an applied append", async () => {
    const { store, keyPrefix } = await opened();
    proxy.dropReplies();
    const pending = store.append({ id: "s", hold: { epoch: "" } }, { records: records("a", 3), expectedNext: 0 });
    await untilStored(keyPrefix, 3);
    proxy.restoreReplies();
    proxy.cut();
    const result = await pending;
    expect([result.appended, result.duplicates, result.next]).toEqual([0, 3, 3]);
    expect((await store.readView({ id: "s" })).records).toEqual(texts(records("a", 3)));
    await store.close();
  });

  it("fails with timeout if no reply comes, and repeating the call is safe", async () => {
    const { store, keyPrefix } = await opened({ commandTimeout: 200 });
    proxy.dropReplies();
    const request = { records: records("a", 3), expectedNext: 0, ttlMs: 60_000 };
    const failure = await store.append({ id: "s" }, request).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      name: "StoreError",
      code: "timeout",
      retryable: true,
      operation: "append",
      sessionId: "s",
    });
    await untilStored(keyPrefix, 3);
    proxy.restoreReplies();
    proxy.cut();
    const again = await untilAnswered(() => store.append({ id: "s" }, request));
    expect(again).toMatchObject({ appended: 0, duplicates: 3, next: 3 });
    await store.close();
  });

  it("bounds every method by the command timeout", async () => {
    const { store } = await opened({ commandTimeout: 150 });
    proxy.dropReplies();
    const change = { epoch: "e", rev: "r", next: 1 };
    const calls = [
      store.append({ id: "s" }, { records: [record("a")] }),
      store.readView({ id: "s" }),
      store.readView({ id: "s" }, { neverReduced: true }),
      readLastRounds(store, { id: "s" }, 1),
      readLog(store, { id: "s" }),
      store.commitReduction({ id: "s" }, { ...change, start: 0, head: "", headCount: 0 }),
      store.edits.rewind({ id: "s" }, { ...change, to: 0, forget: [] }),
      store.clear({ id: "s" }),
      store.edits.rebuild({ id: "s" }, () => undefined),
      store.data.readSide({ id: "s" }, ""),
      store.data.writeSide({ id: "s" }, { set: { field: "x" } }),
      store.data.acquireLease({ id: "s" }, 1_000),
      store.data.releaseLease({ id: "s" }, "token"),
    ];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StoreError", code: "timeout" } });
    }
    // Late answers and cut connections of calls that were given up must not surface as unhandled rejections.
    proxy.cut();
    await store.close();
  });
});

describe("RedisSessionStore when Redis refuses commands or is unavailable", () => {
  const own = ownServer(startRedis);
  let server: PrivateRedis;
  let client: Redis;
  let store: RedisSessionStore;
  let keyPrefix: string;
  beforeAll(() => {
    ({ server, client } = own);
  });
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix, commandTimeout: 20_000 });
  });

  it("fails with timeout while the server is paused, and repeating the call is safe", async () => {
    const impatient = new RedisSessionStore({ client, keyPrefix, commandTimeout: 150 });
    // The script is known to the server, so that the call that is given up is the one that is carried out later.
    await store.append({ id: "warm" }, { records: [record("w")] });
    await client.client("PAUSE", 60_000, "WRITE");
    await expect(impatient.append({ id: "s" }, { records: records("a", 2) })).rejects.toMatchObject({
      code: "timeout",
    });
    const other = new Redis(server.url);
    await other.client("UNPAUSE");
    other.disconnect();
    // On the same connection this comes after the append that was given up.
    expect(await store.append({ id: "s" }, { records: records("a", 2) })).toMatchObject({ appended: 0, duplicates: 2 });
  });

  it("changes nothing when memory is full; clearing and rewinding still work", async () => {
    await store.append({ id: "s" }, { records: records("a", 4), side: { set: { field: "x" } } });
    await store.append({ id: "left" }, { records: [record("a")] });
    const keys = sessionKeys(keyPrefix, "left");
    await client.unlink(keys.log, keys.state);
    const view = await store.readView({ id: "s" });
    await client.config("SET", "maxmemory", "1mb", "maxmemory-policy", "noeviction");
    try {
      const full = { name: "StoreError", code: "out_of_memory", retryable: true };
      await expect(
        store.append(
          { id: "s" },
          { records: [record("n")], ttlMs: 60_000, side: { set: { field: "y" }, remove: ["field"] } },
        ),
      ).rejects.toMatchObject(full);
      await expect(store.append({ id: "new" }, { records: [record("n")] })).rejects.toMatchObject(full);
      await expect(store.append({ id: "left" }, { records: [record("n")] })).rejects.toMatchObject(full);
      await expect(
        store.commitReduction(
          { id: "s" },
          {
            ...asRead(view),
            start: 2,
            head: "h",
            headCount: 1,
            discard: true,
          },
        ),
      ).rejects.toMatchObject(full);
      await expect(store.data.writeSide({ id: "s" }, { set: { field: "y" }, ttlMs: 60_000 })).rejects.toMatchObject(
        full,
      );
      await expect(store.edits.rebuild({ id: "s" }, () => undefined)).rejects.toMatchObject(full);
      await expect(store.data.acquireLease({ id: "s" }, 60_000)).rejects.toMatchObject(full);
      expect(await store.readView({ id: "s" })).toEqual(view);
      expect(await store.data.readSide({ id: "s" }, "")).toEqual({ field: "x" });
      expect(await client.pttl(sessionKeys(keyPrefix, "s").log)).toBe(-1);
      expect(await client.exists(sessionKeys(keyPrefix, "new").state)).toBe(0);
      expect(await client.hlen(keys.ids)).toBe(2);
      expect(await store.edits.rewind({ id: "s" }, { ...asRead(view), to: 2, forget: ["a3", "a4"] })).toBe("rewound");
      expect((await store.readView({ id: "s" })).next).toBe(2);
      await store.clear({ id: "s" });
    } finally {
      await client.config("SET", "maxmemory", "0");
    }
    expect((await store.append({ id: "s" }, { records: [record("n")] })).next).toBe(1);
  });

  it.each([
    ["log", "set"],
    ["ids", "rpush"],
    ["state", "rpush"],
  ] as const)("changes nothing when the key %s is of another type", async (part, command) => {
    const keys = sessionKeys(keyPrefix, "s");
    await store.append({ id: "s" }, { records: records("a", 2) });
    const view = await store.readView({ id: "s" });
    await client.unlink(keys[part]);
    await client.call(command, keys[part], "of another type");
    const dumps = () => Promise.all([keys.log, keys.ids, keys.state].map((key) => client.dumpBuffer(key)));
    const before = await dumps();
    const wrong = expect.objectContaining({ name: "StoreError", code: "wrong_type", retryable: false });
    await expect(store.append({ id: "s" }, { records: [record("n")], ttlMs: 60_000 })).rejects.toEqual(wrong);
    await expect(store.readView({ id: "s" })).rejects.toEqual(wrong);
    await expect(new RedisSessionStore({ client, keyPrefix }).readView({ id: "s" })).rejects.toEqual(wrong);
    await expect(
      store.commitReduction({ id: "s" }, { ...asRead(view), start: 1, head: "", headCount: 0 }),
    ).rejects.toEqual(wrong);
    await expect(store.edits.rewind({ id: "s" }, { ...asRead(view), to: 1, forget: ["a2"] })).rejects.toEqual(wrong);
    expect(await dumps()).toEqual(before);
    // As long as the log is a list, everything else is derived from it.
    const rebuilt = store.edits.rebuild({ id: "s" }, () => undefined);
    await (part === "log" ? expect(rebuilt).rejects.toEqual(wrong) : rebuilt);
    expect(await readLog(store, { id: "s" }).catch(() => wrong)).toEqual(
      part === "log" ? wrong : expect.objectContaining({ damaged: false, records: texts(records("a", 2)) }),
    );
    await store.clear({ id: "s" });
    expect((await store.append({ id: "s" }, { records: [record("n")] })).next).toBe(1);
  });

  it("reports that the server is a replica, and waits for replicas if configured", async () => {
    const replica = await startRedis(["--replicaof", "127.0.0.1", String(server.port)]);
    const waiting = new RedisSessionStore({ client, keyPrefix, waitReplicas: 1, commandTimeout: 20_000 });
    const onReplica = new RedisSessionStore({ url: replica.url, keyPrefix });
    const direct = new Redis(replica.url);
    try {
      while (!(await direct.info("replication")).includes("master_link_status:up")) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(await waiting.append({ id: "s" }, { records: records("a", 2) })).toMatchObject({ appended: 2, next: 2 });
      expect((await onReplica.readView({ id: "s" })).records).toEqual(texts(records("a", 2)));
      await expect(onReplica.append({ id: "s" }, { records: [record("n")] })).rejects.toMatchObject({
        code: "read_only",
        retryable: true,
      });
      await expect(onReplica.clear({ id: "s" })).rejects.toMatchObject({ code: "read_only" });
      await client.script("FLUSH");
      expect(await waiting.append({ id: "s" }, { records: [record("b")] })).toMatchObject({ appended: 1 });
      await waiting.clear({ id: "s" });
      expect((await onReplica.readView({ id: "s" })).epoch).toBe("");
    } finally {
      direct.disconnect();
      await onReplica.close();
      await replica.stop();
    }
    const hasty = new RedisSessionStore({ client, keyPrefix, waitReplicas: 1, commandTimeout: 2_000 });
    const tried = () => hasty.append({ id: "s" }, { records: [record("c")] }).catch((error: StoreError) => error);
    let failure = await tried();
    // Half of the timeout is left for the reply, and this process may stand still for longer.
    while (StoreError.isInstance(failure) && failure.code === "timeout") {
      failure = await tried();
    }
    expect(failure).toMatchObject({
      code: "unavailable",
      retryable: true,
      message: expect.stringMatching(/0 of the 1 replicas/),
    });
    expect(await store.append({ id: "s" }, { records: [record("c")] })).toMatchObject({ duplicates: 1 });
  });

  it("says that the outcome is unknown when the master is demoted while its replicas acknowledge", async () => {
    const demoted = await startRedis();
    const waiting = new RedisSessionStore({ url: demoted.url, keyPrefix, waitReplicas: 1, commandTimeout: 60_000 });
    const direct = new Redis(demoted.url);
    try {
      const pending = waiting.append({ id: "s" }, { records: [record("a")] }).catch((error: unknown) => error);
      while (!(await direct.info("clients")).includes("blocked_clients:1")) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await direct.replicaof("127.0.0.1", server.port);
      expect(await pending).toMatchObject({
        name: "StoreError",
        code: "unavailable",
        retryable: true,
        message: expect.stringMatching(/outcome is unknown, and the same call again is safe\.$/),
      });
      await direct.replicaof("NO", "ONE");
    } finally {
      direct.disconnect();
      await waiting.close();
      await demoted.stop();
    }
  });

  it("reports missing permissions and a wrong password without showing the password", async () => {
    await client.call("ACL", "SETUSER", "reader", "on", ">the-right-one", "~*", "+@read", "+@connection", "+info");
    for (const password of ["the-right-one", "the-wrong-one"]) {
      const reader = new RedisSessionStore({
        url: `redis://reader:${password}@127.0.0.1:${server.port}`,
        keyPrefix,
        commandTimeout: 20_000,
      });
      const failure = await reader
        .append({ id: "s" }, { records: [record("a")] })
        .catch((error: unknown) => error as Error);
      expect(failure).toMatchObject({
        name: "StoreError",
        code: "unavailable",
        retryable: false,
        message: expect.stringMatching(/credentials/),
      });
      expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain(password);
      await reader.close();
    }
  });
});

describe("RedisSessionStore without a server", () => {
  it("lets the process end once the store is closed, with nothing on stderr", async () => {
    const module = join(process.cwd(), "src/store/redis-store/redis-session-store.ts");
    const program = `
      import { RedisSessionStore } from ${JSON.stringify(module)};
      const store = new RedisSessionStore({ url: "redis://127.0.0.1:${await freePort()}", commandTimeout: 300 });
      const failure = await store.readView({ id: "s" }).catch((error) => error);
      process.stdout.write(failure.name + " " + failure.code);
      await store.close();
    `;
    const folder = mkdtempSync(join(process.cwd(), ".cache-readme-"));
    const path = join(folder, "program.mts");
    writeFileSync(path, program);
    const programs = await buildPrograms([path]);
    const child = spawn(process.execPath, [programs.pathOf(path)], { cwd: process.cwd() });
    let output = "";
    let errors = "";
    child.stdout.on("data", (data) => (output += String(data)));
    child.stderr.on("data", (data) => (errors += String(data)));
    const status = await new Promise((resolve) => child.once("close", resolve));
    programs.remove();
    rmSync(folder, { recursive: true });
    expect([status, output, errors]).toEqual([0, expect.stringMatching(/^StoreError (timeout|unavailable)$/), ""]);
  });
});
