import { readLog } from "../../src/store/contract/session-pages.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { CopyPage, CreateRequest, NewState } from "../../src/store/contract/copies.js";
import { human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1")];
const plain: NewState = {
  ...{ start: 0, head: "", headCount: 0, label: {}, hasLabel: false },
  ...{ reductions: [], reduced: 0, side: {} },
};

describe("A session that is created page by page", () => {
  const client = sharedClient();
  let keyPrefix: string;
  let store: RedisSessionStore;
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
  });

  const creating = (list: typeof chat, rest: Partial<CreateRequest> = {}): CreateRequest => ({
    base: 0,
    pages: async function* (): AsyncGenerator<CopyPage> {
      const records = list.map(({ id, digest, record: text }) => ({ record: text, identity: { id, digest } }));
      if (records.length > 0) {
        yield { records, turns: [] };
      }
    },
    finish: async () => plain,
    ...rest,
  });

  it.each([[chat], [[]]])("is refused where another writer began it before its end (%#)", async (list) => {
    const finish = async () => {
      await store.append(session, { records: [record("other")] });
      return plain;
    };
    await expect(store.copies.create(session, creating(list, { finish }))).rejects.toMatchObject({ code: "exists" });
    expect((await readLog(store, session)).records).toEqual(texts([record("other")]));
  });

  it("is not begun where its pages have expired before its end", async () => {
    const finish = async () => {
      await client.unlink(await client.keys(`${keyPrefix}:*:staged:*`));
      return plain;
    };
    expect(await store.copies.create(session, creating(chat, { finish }))).toBeUndefined();
    expect(await client.exists(sessionKeys(keyPrefix, "s").state)).toBe(0);
  });
});
