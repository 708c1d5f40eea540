import { KeyRing } from "../../src/store/sealed/keys/key-ring.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sealedStore } from "../../src/store/sealed/store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { startContractServer } from "./contract-server.js";
import { ownServer } from "../support/own-server.js";

const sealed = (store: SessionStore) => sealedStore(store, KeyRing.of(testKeys("k2", "k1")));

/** Left out: a message that is larger than the limit when it is encrypted, what takes seconds, and keys of others. */
const isApt = ({ title }: { readonly title: string }) =>
  !/ megabyte | ten thousand | 1000 | keys? | compares /.test(title);

describe("a store in Redis that is encrypted keeps the contract of session stores", () => {
  const own = ownServer(startContractServer);
  let keyPrefix: string;
  const cases = sessionStoreContract({
    create: () => {
      keyPrefix = uniquePrefix();
      return sealed(new RedisSessionStore({ client: own.client, keyPrefix }));
    },
    damage: (_, sessionId) => own.client.unlink(sessionKeys(keyPrefix, sessionId).ids),
    wait: (milliseconds) => own.server.wait(milliseconds),
  });
  for (const { title, run } of cases.filter(isApt)) {
    it(title, run);
  }
});
