import { readLog } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import {
  asRead,
  code,
  forkOf,
  human,
  record,
  records,
  type Copying,
  type StoreCase,
  type StoreContext,
  written,
} from "./store-case.js";

function copying(list: readonly NewRecord[], rest: Partial<Copying> = {}): Copying {
  return {
    copyRecord: (text) => {
      const { id, digest } = list.find((item) => item.record === text)!;
      return { record: text, identity: { id, digest } };
    },
    ...rest,
  };
}

async function listed({ store }: StoreContext, owner: string): Promise<string[]> {
  await store.lists.flush();
  return (await store.lists.list(owner, { limit: 9 })).sessions.map(({ sessionId }) => sessionId);
}

/** Discarded ids, owner and label of copies. */
export const forkKnowledgeCases: readonly StoreCase[] = [
  {
    title: "a discarded message is new to a fork, but one that stands in the head",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 6);
      const view = await written(context, list);
      const discard = true;
      await store.commitReduction(session, { ...asRead(view), start: 4, head: "a1", headCount: 1, discard });
      const request = copying(list, { identifyHead: (head) => [head] });
      for (const [name, at] of [
        ["all", undefined],
        ["none", 4],
      ] as const) {
        const copy = `${session.id}-${name}`;
        await forkOf(store, session, { id: copy }, { ...request, ...(at !== undefined && { at }) });
        const again = await store.append({ id: copy }, { records: list.slice(0, 4) });
        assert.deepEqual([again.appended, again.duplicates, again.next], [3, 1, (at ?? 6) + 3]);
        const more = await store.append({ id: copy }, { records: [record("b")] });
        assert.equal(more.next, (at ?? 6) + 4);
      }
    },
  },
  {
    title: "a copy that would end among what was discarded is refused, and one without records knows nothing of it",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 4);
      const view = await written(context, list);
      const discard = true;
      await store.commitReduction(session, { ...asRead(view), start: 2, head: "", headCount: 0, discard });
      const early = forkOf(store, session, { id: `${session.id}-copy` }, copying(list, { at: 1 }));
      await assert.rejects(early, code("position"));
      assert.equal((await readLog(store, { id: `${session.id}-copy` })).next, 0);
      await forkOf(store, session, { id: `${session.id}-copy` }, copying(list, { at: 0 }));
      const { appended, next } = await store.append({ id: `${session.id}-copy` }, { records: list.slice(0, 2) });
      assert.deepEqual([appended, next], [2, 2]);
    },
  },
  {
    title: "a title that a fork gives is not taken back by a later write's label",
    async check(context) {
      const { store, session } = context;
      const list = records("a", 2);
      const copy = `${session.id}-copy`;
      await written(context, list);
      await forkOf(store, session, { id: copy, label: { title: "copy" } }, copying(list));
      assert.notEqual((await store.lists.describe({ id: copy }))!.labelVersion, "");
      await store.append({ id: copy, label: { title: "late" } }, { records: [record("b")] });
      assert.deepEqual((await store.lists.describe({ id: copy }))!.label, { title: "copy" });
    },
  },
  {
    title: "a fork is refused to another owner, and is listed for its own",
    async check(context) {
      const { store, session } = context;
      const list = [human("q1"), record("a1")];
      const [ann, copy] = [`${session.id}-ann`, `${session.id}-copy`];
      await store.append({ ...session, owner: ann }, { records: list });
      const refused = forkOf(store, { ...session, owner: `${session.id}-bob` }, { id: copy }, copying(list));
      await assert.rejects(refused, code("other_owner"));
      assert.equal(await store.lists.describe({ id: copy }), undefined);
      await forkOf(store, { ...session, owner: ann }, { id: copy }, copying(list));
      assert.deepEqual(await listed(context, ann), [copy, session.id]);
      await store.lists.erase({ id: copy }, { guardMs: 60_000 });
      await assert.rejects(forkOf(store, session, { id: copy }, copying(list)), code("erased"));
      assert.deepEqual(await listed(context, ann), [session.id]);
    },
  },
  {
    title: "no fork outlives the erasure of its owner",
    async check({ store, session }) {
      const list = [human("q1"), record("a1")];
      const owner = `${session.id}-ann`;
      await store.append({ ...session, owner }, { records: list });
      const forks = Array.from({ length: 10 }, (_, index) =>
        forkOf(store, session, { id: `${session.id}-copy-${index}` }, copying(list)).catch(code("erased")),
      );
      const [erased] = await Promise.all([
        store.lists.eraseOwners({ owners: [owner], unlisted: true, guardMs: 60_000 }),
        ...forks,
      ]);
      assert.ok(erased >= 1);
      for await (const left of store.lists.scan({ owner })) {
        assert.fail(`${left} is left`);
      }
    },
  },
];
