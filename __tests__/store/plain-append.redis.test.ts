import fc from "fast-check";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { appendScript } from "../../src/store/redis/lua/scripts.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionHold } from "../../src/store/contract/session-ref.js";
import type { AppendRequest } from "../../src/store/contract/session-writes.js";
import { asRead, human, record, records } from "../../testing/session-store/store-case.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

describe("An append that takes the script's short path", () => {
  const client = sharedClient();
  let replies: unknown[];
  beforeAll(() => {
    const { call } = client;
    jest.spyOn(client, "call").mockImplementation(async (...args: unknown[]) => {
      const reply = await (call.apply(client, args as never) as Promise<unknown>);
      // A hold that another test took is prolonged meanwhile.
      if ([appendScript.sha, appendScript.source].includes(String([args[1]].flat()[0]))) {
        replies.push(reply);
      }
      return reply as never;
    });
  });
  beforeEach(() => {
    replies = [];
  });

  /** True where the last call took the short path, whose replies begin with a number. */
  const isShort = () => /^\d/.test(String([replies.at(-1)].flat()[0]));
  const chat = [human("q1"), record("a1"), human("q2"), record("a2")];

  /** A session under a prefix of its own, and all that Redis holds of it but what is random or a time. */
  async function session(
    change: (store: RedisSessionStore) => Promise<unknown> = async () => undefined,
    { counter, begins = false }: { readonly counter?: string; readonly begins?: boolean } = {},
  ) {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    const first = counter === undefined ? chat : chat.map((each) => ({ ...each, tokens: 2 }));
    if (!begins) {
      await store.append({ id: "s" }, { records: first, ttlMs: 60_000, ...(counter && { counter }) });
    }
    await change(store);
    await store.readView({ id: "s" });
    const { log, ids, state } = sessionKeys(keyPrefix, "s");
    const contents = async () => {
      const { epoch, rev, created, updated, cut, reductions, fence, holder, ...fields } = await client.hgetall(state);
      const random = [epoch, rev, created, updated, cut, reductions, fence, holder].map((value) => value !== undefined);
      return { log: await client.lrange(log, 0, -1), ids: await client.hgetall(ids), fields, random };
    };
    const lifetimes = () => Promise.all([log, ids, state].map((key) => client.pexpiretime(key)));
    return { keyPrefix, store, contents, lifetimes, state };
  }

  const reduced = async (store: RedisSessionStore) => {
    const view = await store.readView({ id: "s" });
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 2, head: "[]", headCount: 1 });
  };
  const discarded = async (store: RedisSessionStore) => {
    const view = await store.readView({ id: "s" });
    const discard = true;
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 2, head: "", headCount: 0, discard });
  };
  const noted = async (store: RedisSessionStore) => {
    await store.data.writeSide({ id: "s" }, { set: { field: "x" }, ttlMs: 60_000 });
  };
  const requests: [string, AppendRequest][] = [
    ["one record", { records: [human("n1")] }],
    ["a turn with a time to live", { records: [human("n1"), record("n2")], ttlMs: 90_000 }],
    ["27 records", { records: records("n", 27), ttlMs: 90_000 }],
    ["an index that becomes long", { records: records("n", 28), ttlMs: 90_000 }],
    ["an index that is long from the beginning", { records: records("n", 32), ttlMs: 90_000 }],
    [
      "records that name the tokens they were paid with",
      { records: [human("n1"), { ...record("n2"), usage: { model: "m", input: 5, output: 7, total: 12 } }] },
    ],
    ["a view that stays small enough", { records: [record("n1")], viewLimit: { messages: 5, fromStart: 5 } }],
  ];

  /** The same request by the long way: only that knows side data. */
  const byLongWay = (request: AppendRequest) => ({ ...request, side: {} });

  describe.each<[string, Parameters<typeof session>[0], boolean]>([
    ["a session", undefined, false],
    ["a reduced one", reduced, false],
    ["one that lost its oldest records", discarded, false],
    ["one that begins", undefined, true],
    ["one that begins behind its side data", noted, true],
  ])("(%s)", (_, change, begins) => {
    it.each(requests)("leaves the session as the long path does, and says the same (%s)", async (__, request) => {
      const [short, long] = [await session(change, { begins }), await session(change, { begins })];
      const result = await short.store.append({ id: "s" }, request);
      expect(isShort()).toBe(true);
      const expected = await long.store.append({ id: "s" }, byLongWay(request));
      expect(isShort()).toBe(false);
      expect({ ...result, epoch: "" }).toEqual({ ...expected, epoch: "" });
      expect(await short.contents()).toEqual(await long.contents());
      expect(new Set(await short.lifetimes()).size).toBe(1);
      expect((await short.store.readView({ id: "s" })).damaged).toBe(false);
    });
  });

  interface Step {
    readonly count: number;
    readonly owner: boolean;
    readonly turn: "none" | "done" | "open" | "next";
    readonly counted: boolean;
    readonly hold: boolean;
    readonly limit: "none" | "all" | "tokens" | "start";
  }
  const step = fc.record<Step>({
    count: fc.integer({ min: 1, max: 4 }),
    owner: fc.boolean(),
    turn: fc.constantFrom("none", "done", "open", "next"),
    counted: fc.oneof({ weight: 40, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    hold: fc.boolean(),
    limit: fc.constantFrom("none", "none", "all", "tokens", "start"),
  });
  const limits = { none: undefined, all: { messages: 0 }, tokens: { tokens: 40 }, start: { fromStart: 12 } };

  it("leaves what the long path leaves, whatever turns, owners, holds and counts follow each other", async () => {
    let shortOnes = 0;
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 10, maxLength: 40 }), async (begins, steps) => {
        const options = { counter: "c", begins };
        const pairs = [await session(undefined, options), await session(undefined, options)].map((made) => ({
          made,
          hold: undefined as SessionHold | undefined,
        }));
        let open = { name: "", stored: 0 };
        for (const [index, { count, owner, turn, counted, hold, limit }] of steps.entries()) {
          const isNext = turn === "next" && open.name !== "";
          const claim = isNext ? open : { name: `turn-${String(index).padStart(9, "0")}`, stored: 0 };
          const done = turn === "done" || (turn === "next" && index % 2 === 0);
          const made = Array.from({ length: count }, (_, at) => ({ ...record(`n${index}-${at}`), tokens: at + 1 }));
          const request: AppendRequest = {
            records: made,
            ...(index % 3 > 0 && { ttlMs: 90_000 }),
            ...(counted && { counter: "c" }),
            ...(limits[limit] && { viewLimit: limits[limit] }),
            ...((turn !== "none" || isNext) && { turn: { ...claim, done } }),
          };
          const outcomes: object[] = [];
          for (const [side, place] of pairs.entries()) {
            const { keyPrefix, store } = place.made;
            const ref = { id: "s", ...(owner && { owner: "ann" }), ...(place.hold && { hold: place.hold }) };
            const ends = place.hold !== undefined && hold;
            const takes = place.hold === undefined && hold && { take: { ticket: "t", holdMs: 60_000, graceMs: 1_000 } };
            // A store that has not seen the session does not know where its log ends, and keeps no view.
            const used = side === 0 ? store : new RedisSessionStore({ client, keyPrefix });
            const {
              epoch,
              place: got,
              view,
              ...rest
            } = await used.append(ref, {
              ...(side === 0 ? request : byLongWay(request)),
              ...(ends && { release: "t" }),
              ...takes,
            });
            expect(epoch).not.toBe("");
            place.hold = ends ? undefined : got?.isHeld ? got.hold : place.hold;
            outcomes.push({ ...rest, held: got?.isHeld, records: view?.records, next: view?.next });
            expect(side === 1 && isShort()).toBe(false);
            shortOnes += side === 0 && isShort() ? 1 : 0;
          }
          expect(outcomes[0]).toEqual(outcomes[1]);
          const [short, long] = await Promise.all(pairs.map(({ made }) => made.contents()));
          expect(short).toEqual(long);
          open =
            turn === "none" || done
              ? turn === "none"
                ? open
                : { name: "", stored: 0 }
              : { name: claim.name, stored: claim.stored + count };
        }
      }),
      { numRuns: propertyRuns(12) },
    );
    expect(shortOnes).toBeGreaterThan(10);
  });

  it("names the session's epoch", async () => {
    const { store, state, lifetimes } = await session();
    const { epoch } = await store.append({ id: "s" }, { records: [record("n")], ttlMs: 90_000 });
    expect(isShort()).toBe(true);
    const [stored, updated] = await client.hmget(state, "epoch", "updated");
    expect(stored).toBe(epoch);
    expect(await lifetimes()).toEqual([90_000, 90_000, 90_000].map((ms) => Number(updated) + ms));
  });

  const take = (ticket: string, holdMs = 60_000) => ({ ticket, holdMs, graceMs: 60_000 });

  it("leaves the life of a session alone that takes a hold and does not end soon", async () => {
    const { store, lifetimes } = await session();
    const [before] = await lifetimes();
    const request = { records: [record("n")], take: { ...take("one", 1_000), ttlMs: 3_600_000 } };
    expect((await store.append({ id: "s" }, request)).place?.isHeld).toBe(true);
    await store.lists.flush();
    expect([isShort(), await lifetimes()]).toEqual([true, [before, before, before]]);
  });

  it("tells the list of an owner who has claimed the session since", async () => {
    const { keyPrefix, store } = await session();
    const other = new RedisSessionStore({ client, keyPrefix });
    await other.data.writeSide({ id: "s", owner: "ann" }, { set: { field: "x" } });
    await other.lists.flush();
    await store.append({ id: "s" }, { records: [record("n")] });
    expect(isShort()).toBe(true);
    await store.lists.flush();
    expect((await other.lists.list("ann", { limit: 1 })).sessions).toMatchObject([{ messages: 5 }]);
  });
});
