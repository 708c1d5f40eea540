import { strict as assert } from "node:assert";
import { checkSessionStore, storeGroups, type StoreGroup } from "../src/store/groups.js";
import type { CompleteSessionStore, SessionStore } from "../src/store/session-store.js";
import { appendCases } from "./session-store/append-cases.js";
import { copyCases } from "./session-store/copy-cases.js";
import { expectationCases } from "./session-store/expectation-cases.js";
import { listCases } from "./session-store/list-cases.js";
import { expiryCases } from "./session-store/expiry-cases.js";
import { forkCases } from "./session-store/fork-cases.js";
import { forkKnowledgeCases } from "./session-store/fork-knowledge-cases.js";
import { fenceCases } from "./session-store/fence-cases.js";
import { inputCases } from "./session-store/input-cases.js";
import { keyCases } from "./session-store/key-cases.js";
import { lifeCases } from "./session-store/life-cases.js";
import { ownerCases } from "./session-store/owner-cases.js";
import { pageCases } from "./session-store/page-cases.js";
import { readCases } from "./session-store/read-cases.js";
import { reductionCases } from "./session-store/reduction-cases.js";
import { refusalCases } from "./session-store/refusal-cases.js";
import { rewindCases } from "./session-store/rewind-cases.js";
import { sideCases } from "./session-store/side-cases.js";
import type { StoreCase, StoreSetup } from "./session-store/store-case.js";
import { holdCases } from "./session-store/hold-cases.js";
import { turnCases } from "./session-store/turn-cases.js";
import { viewLimitCases } from "./session-store/view-limit-cases.js";

/** One promise of a contract: its title, and a run that rejects if the promise is broken. */
export interface ContractCase {
  /** The promise, as the title of a test. */
  readonly title: string;
  /** Tries it on a new store. */
  run(): Promise<void>;
}

/**
 * The contract of a `SessionStore` as tests, for any test framework: each case makes its own store and its own
 * sessions. Cases of groups that the stores lack are left out.
 *
 * @example
 * import { it } from "node:test";
 * import { InMemorySessionStore } from "langchain-redis-memory";
 * import { sessionStoreContract } from "langchain-redis-memory/testing";
 *
 * for (const { title, run } of sessionStoreContract({ create: () => new InMemorySessionStore() })) {
 *   void it(title, run);
 * }
 */
export function sessionStoreContract(setup: StoreSetup): ContractCase[] {
  const all = [
    appendCases,
    expectationCases,
    viewLimitCases,
    readCases,
    reductionCases,
    rewindCases,
    lifeCases,
    sideCases,
    turnCases,
    ownerCases,
    listCases,
    pageCases,
    forkCases,
    forkKnowledgeCases,
    expiryCases,
    copyCases,
    holdCases,
    fenceCases,
    inputCases,
    keyCases,
    refusalCases,
  ];
  const groups = new Set(setup.groups ?? storeGroups);
  return [groupsCase(groups), ...all.flat()]
    .filter(({ needs = [] }) => needs.every((group) => groups.has(group)))
    .map((storeCase, index) => ({
      title: storeCase.title,
      run: () => runCase(storeCase, { setup, index, groups }),
    }));
}

/** Keeps a store from being judged by the wrong cases. */
function groupsCase(groups: ReadonlySet<StoreGroup>): StoreCase {
  return {
    title: "the store has the methods of the core, and whole groups: those that its setup names",
    async check({ store }) {
      checkSessionStore("sessionStoreContract", store);
      const found = storeGroups.filter((group) => (store as SessionStore)[group] !== undefined);
      assert.deepEqual(found.sort(), [...groups].sort());
    },
  };
}

interface CaseRun {
  readonly setup: StoreSetup;
  readonly index: number;
  readonly groups: ReadonlySet<StoreGroup>;
}

async function runCase(storeCase: StoreCase, { setup, index, groups }: CaseRun): Promise<void> {
  const store = await setup.create();
  const scale = setup.wait === undefined ? 1 : 100;
  const wait = setup.wait ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)));
  try {
    await storeCase.check({
      store: store as CompleteSessionStore,
      session: { id: `contract-${index}` },
      has: (group) => groups.has(group),
      damage: setup.damage && (async (sessionId) => void (await setup.damage!(store, sessionId))),
      time: (milliseconds) => milliseconds * scale,
      wait: async (milliseconds) => void (await wait(milliseconds * scale)),
    });
  } finally {
    await setup.destroy?.(store);
  }
}
