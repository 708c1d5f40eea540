import { strict as assert } from "node:assert";
import type { ForkRequest } from "../../src/store/session-forks.js";
import type { NewRecord } from "../../src/store/session-writes.js";
import { asRead, code, human, record, records, written, type StoreCase, type StoreContext } from "./store-case.js";

function copying(list: readonly NewRecord[], rest: Partial<ForkRequest> = {}): ForkRequest {
  return {
    copyRecord: (text) => {
      const { id, digest } = list.find((item) => item.record === text)!;
      return { record: text, identity: { id, digest } };
    },
    ...rest,
  };
}

async function listed({ store }: StoreContext, owner: string): Promise<string[]> {
  await store.index.flush();
  return (await store.index.list(owner, { limit: 9 })).sessions.map(({ sessionId }) => sessionId);
}

/** What copies know of discarded messages, whose they are, and what they are called. */
export const forkKnowledgeCases: readonly StoreCase[] = [
  {
    title: "a discarded message that is sent again to a fork adds nothing, also one that stands in the head",
    needs: ["forks"],
    async check(context) {
      const { store, session } = context;
      const list = records("a", 6);
      const view = await written(context, list);
      const discard = { forget: ["a2", "a3", "a4"], remember: { count: 100, seconds: 600 } };
      await store.commitReduction(session, { ...asRead(view), start: 4, head: "a1", headCount: 1, discard });
      const request = copying(list, { identifyHead: (head) => [head] });
      for (const [name, at] of [
        ["all", undefined],
        ["none", 4],
      ] as const) {
        const copy = `${session}-${name}`;
        await store.forks.fork(session, copy, { ...request, ...(at !== undefined && { at }) });
        const again = await store.append(copy, { records: list.slice(0, 4) });
        assert.deepEqual([again.appended, again.duplicates, again.next], [0, 4, at ?? 6]);
        const more = await store.append(copy, { records: [record("b")] });
        assert.equal(more.next, (at ?? 6) + 1);
      }
    },
  },
  {
    title: "a copy that would end among what was discarded is refused, and one without records knows nothing of it",
    needs: ["forks"],
    async check(context) {
      const { store, session } = context;
      const list = records("a", 4);
      const view = await written(context, list);
      const discard = { forget: ["a1", "a2"], remember: { count: 100, seconds: 600 } };
      await store.commitReduction(session, { ...asRead(view), start: 2, head: "", headCount: 0, discard });
      const early = store.forks.fork(session, `${session}-copy`, copying(list, { at: 1 }));
      await assert.rejects(early, code("position"));
      assert.equal((await store.readLog(`${session}-copy`)).next, 0);
      await store.forks.fork(session, `${session}-copy`, copying(list, { at: 0 }));
      const { appended, next } = await store.append(`${session}-copy`, { records: list.slice(0, 2) });
      assert.deepEqual([appended, next], [2, 2]);
    },
  },
  {
    title: "a title that a fork gives is not taken back by a later write's label",
    needs: ["forks", "index"],
    async check(context) {
      const { store, session } = context;
      const list = records("a", 2);
      const copy = `${session}-copy`;
      await written(context, list);
      await store.forks.fork(session, copy, copying(list, { fields: { title: "copy" } }));
      assert.notEqual((await store.index.describe(copy))!.labelVersion, "");
      await store.append(copy, { records: [record("b")], label: { title: "late" } });
      assert.deepEqual((await store.index.describe(copy))!.label, { title: "copy" });
    },
  },
  {
    title: "a fork is refused to another owner, and is listed for its own",
    needs: ["forks", "index"],
    async check(context) {
      const { store, session } = context;
      const list = [human("q1"), record("a1")];
      const [ann, copy] = [`${session}-ann`, `${session}-copy`];
      await store.append(session, { records: list, owner: ann });
      const refused = store.forks.fork(session, copy, copying(list, { owner: `${session}-bob` }));
      await assert.rejects(refused, code("other_owner"));
      assert.equal(await store.index.describe(copy), undefined);
      await store.forks.fork(session, copy, copying(list, { owner: ann }));
      assert.deepEqual(await listed(context, ann), [copy, session]);
      await store.index.erase(copy, { guardMs: 60_000 });
      await assert.rejects(store.forks.fork(session, copy, copying(list)), code("erased"));
      assert.deepEqual(await listed(context, ann), [session]);
    },
  },
  {
    title: "no fork outlives the erasure of its owner",
    needs: ["forks", "index"],
    async check({ store, session }) {
      const list = [human("q1"), record("a1")];
      const owner = `${session}-ann`;
      await store.append(session, { records: list, owner });
      const forks = Array.from({ length: 10 }, (_, index) =>
        store.forks.fork(session, `${session}-copy-${index}`, copying(list)).catch(code("erased")),
      );
      const [erased] = await Promise.all([store.index.eraseOwner(owner, { guardMs: 60_000 }), ...forks]);
      assert.ok(erased >= 1);
      for await (const left of store.index.scan({ owner })) {
        assert.fail(`${left} is left`);
      }
    },
  },
];
