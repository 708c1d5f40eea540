import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { writeWhile, type Journal } from "../support/busy-writers.js";
import { compare, nothingBroken, nothingElseBroken } from "../support/journal-check.js";
import { startSentinels, type PrivateSentinels } from "../../tools/testkit/servers/redis-sentinel.js";

describe("Writers behind Sentinel, with a master and two replicas", () => {
  const setups: Record<string, PrivateSentinels> = {};
  beforeAll(async () => {
    const [kill, freeze] = await Promise.all([startSentinels({ replicas: 2 }), startSentinels({ replicas: 2 })]);
    Object.assign(setups, { kill, freeze });
  });
  afterAll(() => Promise.all(Object.values(setups).map((setup) => setup.stop())));

  it.each([
    ["kill", "is killed", "SIGKILL"],
    ["freeze", "freezes and comes back", "SIGSTOP"],
  ] as const)(
    "lose nothing they waited for when the master %s (%s), and tear, double and reorder nothing",
    async (name, _, signal) => {
      const { sentinels, name: group, master, untilPromoted } = setups[name]!;
      const options = {
        ...{ sentinels: [...sentinels], name: group, failoverDetector: true, socketTimeout: 1_500 },
        ...{ disconnectTimeout: 20, sentinelCommandTimeout: 1_000, retryStrategy: () => 50 },
      };
      // A detector may end the client for good; the README says to connect again.
      const clients = [new Redis(options), new Redis5(options), new Redis({ ...options, protocol: 2 })].map(
        (client) => {
          const again = () => !done && void client.connect().catch(() => undefined);
          return client.on("error", () => undefined).on("end", again) as Redis;
        },
      );
      let done = false;
      const work = async () => {
        master.process.kill(signal);
        await untilPromoted();
        master.process.kill("SIGCONT");
      };
      const end = work();
      const write = (waitReplicas?: number) =>
        writeWhile({ clients: clients as RedisClient[], rest: 10, waitReplicas }, () => end);
      const [waiting, hasty] = await Promise.all([write(1), write()]);
      const reader = new Redis({ sentinels: [...sentinels], name: group });
      const found = (journal: Journal) => compare(journal, reader);
      expect(await found(waiting)).toMatchObject(nothingBroken);
      expect(await found(hasty)).toMatchObject(nothingElseBroken);
      expect(waiting.failures).not.toEqual({});
      done = true;
      [...clients, reader].forEach((client) => client.disconnect());
    },
  );
});
