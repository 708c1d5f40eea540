import { strict as assert } from "node:assert";
import { maxReductions } from "../../src/store/contract/session-data.js";
import { reductionsOf, asRead, human, record, records, texts, written, type StoreCase } from "./store-case.js";

/** Pages, figures and the reductions of a session. */
export const pageCases: readonly StoreCase[] = [
  {
    title: "a page holds the newest records, and those before, behind and around a place",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 10);
      await written(context, list);
      const page = async (request: object) => {
        const found = await store.data.readPage(session, { limit: 3, ...request });
        assert.deepEqual(found?.records, texts(list.slice(found?.from, found?.to)));
        return [found?.from, found?.to];
      };
      assert.deepEqual(await page({}), [7, 10]);
      assert.deepEqual(await page({ before: 7 }), [4, 7]);
      assert.deepEqual(await page({ before: 2 }), [0, 2]);
      assert.deepEqual(await page({ before: 0 }), [0, 0]);
      assert.deepEqual(await page({ before: 99 }), [7, 10]);
      assert.deepEqual(await page({ after: 3 }), [4, 7]);
      assert.deepEqual(await page({ after: -1 }), [0, 3]);
      assert.deepEqual(await page({ after: 8 }), [9, 10]);
      assert.deepEqual(await page({ after: 99 }), [10, 10]);
      assert.deepEqual(await page({ around: "a6" }), [4, 7]);
      assert.deepEqual(await page({ around: "a1" }), [0, 3]);
      assert.deepEqual(await page({ around: "a10" }), [7, 10]);
      assert.deepEqual(await page({ around: "a10", limit: 99 }), [0, 10]);
      assert.equal(await store.data.readPage(session, { around: "b1", limit: 3 }), undefined);
    },
  },
  {
    title: "a page of an unknown session is empty, and its figures are undefined",
    async check({ store, session }) {
      const page = await store.data.readPage(session, { limit: 3 });
      assert.deepEqual([page?.records, page?.from, page?.to, page?.next, page?.damaged], [[], 0, 0, 0, false]);
      assert.equal(await store.data.readPage(session, { around: "a1", limit: 3 }), undefined);
      assert.equal(await store.data.readStats(session), undefined);
      assert.deepEqual(await reductionsOf(store, session), []);
    },
  },
  {
    title: "a page that begins before the start comes with the head",
    async check(context) {
      const { store, session } = context;
      const view = await written(context, records("a", 6));
      await store.commitReduction(session, { ...asRead(view), start: 4, head: "h", headCount: 1 });
      const newest = await store.data.readPage(session, { limit: 2 });
      assert.deepEqual([newest?.start, newest?.head], [4, ""]);
      const older = await store.data.readPage(session, { limit: 3 });
      assert.deepEqual([older?.from, older?.start, older?.head], [3, 4, "h"]);
    },
  },
  {
    title: "pages keep their positions after records were discarded",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 6);
      const view = await written(context, list);
      const discard = true;
      await store.commitReduction(session, { ...asRead(view), start: 4, head: "", headCount: 0, discard });
      const page = await store.data.readPage(session, { limit: 5 });
      assert.deepEqual([page?.base, page?.from, page?.to, page?.next], [4, 4, 6, 6]);
      assert.deepEqual(page?.records, texts(list.slice(4)));
      assert.equal(await store.data.readPage(session, { limit: 5, around: "a2" }), undefined);
      assert.deepEqual((await store.data.readPage(session, { limit: 5, before: 3 }))?.records, []);
    },
  },
  {
    title: "the figures of a session count records, rounds, the view and reductions",
    async check(context) {
      const { store, session, wait } = context;
      const list = [human("q1"), record("a1"), human("q2"), record("a2")].map((item) => ({ ...item, tokens: 5 }));
      const view = await written(context, list, { counter: "c", ttlMs: 60_000 });
      const before = (await store.data.readStats(session))!;
      const { createdAt, updatedAt, expiresAt, ...figures } = before;
      assert.deepEqual(figures, {
        messages: 4,
        rounds: 2,
        viewMessages: 4,
        viewTokens: 20,
        counter: "c",
        isWhole: true,
        reductions: [],
        reduced: 0,
        damaged: false,
      });
      assert.equal(createdAt, updatedAt);
      // A script reads the clock and the key's expiry one after the other; a busy machine may pause it between.
      assert.ok(Math.abs(expiresAt! - (updatedAt! + 60_000)) < 20_000);
      await wait(5);
      await store.commitReduction(session, {
        ...asRead(view),
        start: 2,
        head: "h",
        headCount: 1,
        tokens: 11,
        counter: "c",
      });
      const after = (await store.data.readStats(session))!;
      assert.deepEqual(
        [after.messages, after.viewMessages, after.viewTokens, after.isWhole, after.reduced],
        [4, 3, 11, false, 1],
      );
      assert.equal(after.createdAt, createdAt);
      assert.ok(Math.abs(after.expiresAt! - expiresAt!) < 20_000);
      assert.ok(after.updatedAt! > updatedAt!);
    },
  },
  {
    title: "a session of side fields alone has figures",
    async check(context) {
      const { store, session } = context;
      await store.append(session, { records: [], side: { set: { field: "x" } } });
      const stats = await store.data.readStats(session);
      assert.deepEqual([stats?.messages, stats?.viewMessages, stats?.expiresAt], [0, 0, undefined]);
      assert.ok(stats!.createdAt !== undefined);
    },
  },
  {
    title: "each reduction is remembered with its sizes, the last ones of many",
    async check(context) {
      const { store, session } = context;
      let view = await written(context, records("a", 5));
      await store.commitReduction(session, { ...asRead(view), start: 3, head: "h", headCount: 2 });
      const [first] = await reductionsOf(store, session);
      const { at, ...rest } = first!;
      assert.ok(Number.isSafeInteger(at));
      assert.deepEqual(rest, { start: 3, head: 2, before: { messages: 5 }, after: { messages: 4 } });
      view = await store.readView(session);
      await store.commitReduction(session, {
        ...asRead(view),
        start: 5,
        head: "",
        headCount: 0,
        tokens: 2.5,
        counter: "c",
        maxTokens: 600,
      });
      const [, second] = await reductionsOf(store, session);
      assert.deepEqual([second!.before, second!.after], [{ messages: 4 }, { messages: 0, tokens: 2.5 }]);
      assert.equal(second!.maxTokens, 600);
      for (let index = 0; index < maxReductions; index += 1) {
        view = await store.readView(session);
        await store.commitReduction(session, { ...asRead(view), start: 5, head: "", headCount: index });
      }
      const all = await reductionsOf(store, session);
      assert.deepEqual([all.length, all[0]!.head, all.at(-1)!.head], [maxReductions, 0, maxReductions - 1]);
      assert.equal((await store.data.readStats(session))!.reduced, maxReductions + 2);
    },
  },
];
