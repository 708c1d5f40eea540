import { InMemoryStore, type Item, type Operation } from "@langchain/langgraph-checkpoint";
import * as fc from "fast-check";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import type { ItemStoreSettings } from "../../src/langgraph/long-term/redis-store.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { ownCluster } from "../support/own-cluster.js";

const label = fc.constantFrom("a", "b", "ab", "users");
const labels = (minLength: number) => fc.array(label, { minLength, maxLength: 3 });
const scalar = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom("", "2", "two", true, false, null),
  fc.double({ min: -3, max: 3, noNaN: true }).map((number) => number + 0),
);
const value = fc.dictionary(
  fc.constantFrom("x", "y", "__proto__", "text"),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.record({ x: scalar }, { noNullPrototype: true })),
  { noNullPrototype: true },
);
const operators = fc.dictionary(
  fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$like"),
  fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })),
  { maxKeys: 2, noNullPrototype: true },
);
const filter = fc.dictionary(fc.constantFrom("x", "y"), fc.oneof(scalar, operators, fc.array(scalar)), {
  maxKeys: 2,
  noNullPrototype: true,
});
const size = fc.nat({ max: 12 });
const key = fc.constantFrom("", "1", "k", "{k}", "*", "é", "__proto__");
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const plain = { noNullPrototype: true } as const;
const get = fc.record({ namespace: labels(1), key });
const put = fc.record({ namespace: labels(1), key, value: fc.option(value, { nil: null, freq: 4 }) }, plain);
const search = fc.record({
  namespacePrefix: labels(0),
  filter: optional(filter),
  limit: optional(size),
  offset: optional(size),
});
const condition = fc.record({
  matchType: fc.constantFrom("prefix" as const, "suffix" as const),
  path: fc.array(fc.oneof(label, fc.constant("*")), { minLength: 1, maxLength: 3 }),
});
const list = fc.record({
  matchConditions: optional(fc.array(condition, { maxLength: 2 })),
  maxDepth: optional(fc.integer({ min: 1, max: 3 })),
  limit: size,
  offset: size,
});
const batch = fc.array(fc.oneof(get, { arbitrary: put, weight: 3 }, search, list), { minLength: 1, maxLength: 8 });

const bare = (item: Item) => ({ namespace: item.namespace, key: item.key, value: item.value });
const nameOf = (item: Item) => [...item.namespace, "", item.key].join("\0");
const inOrder = (items: readonly Item[]) =>
  [...items].sort((one, other) => Buffer.compare(Buffer.from(nameOf(one)), Buffer.from(nameOf(other)))).map(bare);

/** What LangGraph's store says, but for two things: emptied namespaces are not listed; items are in order of names. */
async function expected(operation: Operation, twin: InMemoryStore, before: readonly Item[]): Promise<unknown> {
  if ("namespacePrefix" in operation) {
    const { limit = 10, offset = 0 } = operation;
    const [found] = (await twin.batch([{ ...operation, limit: 1_000, offset: 0 }])) as [Item[]];
    return inOrder(found).slice(offset, offset + limit);
  }
  if ("value" in operation) {
    return null;
  }
  if ("namespace" in operation) {
    const item = await twin.get([...operation.namespace], operation.key);
    return item && bare(item);
  }
  const full = new InMemoryStore();
  await full.batch(before.map(({ namespace, key: name, value: stored }) => ({ namespace, key: name, value: stored })));
  return (await full.batch([operation]))[0];
}

const shown = (result: unknown): unknown => {
  const isItem = typeof result === "object" && result !== null && "key" in result;
  return Array.isArray(result) ? result.map(shown) : isItem ? bare(result as Item) : result;
};

async function compare(open: (keyPrefix: string) => RedisStore, batches: readonly Operation[][]): Promise<void> {
  const store = open(uniquePrefix());
  const twin = new InMemoryStore();
  for (const operations of batches) {
    const before = await twin.search([], { limit: 1_000 });
    const wanted = await Promise.all(operations.map((operation) => expected(operation, twin, before)));
    await twin.batch(operations);
    expect((await store.batch(operations)).map(shown)).toEqual(wanted);
  }
  const items = await store.search([], { limit: 1_000 });
  expect(items.map(bare)).toEqual(inOrder(await twin.search([], { limit: 1_000 })));
  expect(await store.deleteNamespace(["a"])).toBe(items.filter(({ namespace: [first] }) => first === "a").length);
  await store.deleteNamespace([]);
}

// A run takes 20 batches of 4.5 operations on average.
const runsOf = (numRuns: number, open: (keyPrefix: string) => RedisStore) =>
  fc.assert(
    fc.asyncProperty(fc.array(batch, { minLength: 20, maxLength: 20 }), (batches) => compare(open, batches)),
    { numRuns },
  );

describe("Long-term memory says what LangGraph's InMemoryStore says", () => {
  const closed: RedisStore[] = [];
  const stores = (settings: ItemStoreSettings) => {
    const store = RedisStore.fromUrl(sharedRedisUrl(), settings);
    closed.push(store);
    return store;
  };
  afterEach(async () => {
    await Promise.all(closed.splice(0).map((store) => store.close()));
  });

  it("in thousands of random operations", async () => {
    await runsOf(propertyRuns(112), (keyPrefix) => stores({ keyPrefix }));
  });

  it("with encryption and an expiry", async () => {
    const settings = { encryption: testKeys("k1"), itemTTL: { seconds: 600, refreshOnRead: true } };
    await runsOf(propertyRuns(25), (keyPrefix) => stores({ ...settings, keyPrefix }));
  });
});

describe("Long-term memory on a cluster", () => {
  const own = ownCluster(3);

  it("says what LangGraph's InMemoryStore says", async () => {
    await runsOf(propertyRuns(25), (keyPrefix) => new RedisStore({ client: own.client, keyPrefix }));
  });
});
