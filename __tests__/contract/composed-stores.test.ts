import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { KeyRing } from "../../src/store/sealed/keys/key-ring.js";
import { sealedWhenUsed } from "../../src/store/sealed/loaded-store.js";
import { around } from "../../src/store/contract/groups.js";
import { refreshedOnRead } from "../../src/memory/session/open-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { propertyRuns } from "../support/property-runs.js";
import { testKeys } from "../support/test-keys.js";
import { takesTime } from "./contract-server.js";

/** Left out: what a record that is longer when it is encrypted exceeds, what takes seconds, and keys of others. */
const isApt = ({ title }: { readonly title: string }) =>
  !/ megabyte | ten thousand | 1000 | keys? | compares /.test(title);

type Layer = (store: SessionStore) => SessionStore;

/** What a memory puts around a store, by name. */
const layers = {
  sealed: (store) => sealedWhenUsed(store, KeyRing.of(testKeys("k2", "k1"))),
  passed: (store) => around(store, (_, go) => go()),
  refreshed: (store) => refreshedOnRead(store, { ttlMs: 600_000, pending: new Map() }) as SessionStore,
} satisfies Record<string, Layer>;

type LayerName = keyof typeof layers;

function orders(names: readonly LayerName[]): LayerName[][] {
  return names.length < 2
    ? [[...names]]
    : names.flatMap((name) => orders(names.filter((other) => other !== name)).map((rest) => [name, ...rest]));
}

/** One of the two orders behind each outermost layer: the first of each or the second, drawn anew in each run. */
const drawn = Math.round(Math.random());
const all = orders(["sealed", "passed", "refreshed"]);
const played = propertyRuns(1) > 1 ? all : all.filter((_, index) => index % 2 === drawn);

describe.each(played)("a store within %s, %s and %s keeps the contract", (...order) => {
  let now = Date.now();
  const cases = sessionStoreContract({
    create: () =>
      order.reduceRight<SessionStore>(
        (store, name) => layers[name](store),
        new InMemorySessionStore({ now: () => now }),
      ),
    wait: (milliseconds) => {
      now += milliseconds;
    },
  });
  // Reads of a refreshed store keep sessions alive, so nothing ends in time there.
  for (const { title, run } of cases.filter((one) => isApt(one) && !takesTime(one))) {
    it(title, run);
  }
});

describe("InMemorySessionStore keeps the contract of session stores", () => {
  let now = 0;
  const setup = {
    create: () => new InMemorySessionStore({ now: () => now }),
    wait: (milliseconds: number) => {
      now += milliseconds;
    },
  };
  for (const { title, run } of sessionStoreContract(setup)) {
    it(title, run);
  }
});
