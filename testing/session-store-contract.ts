import { strict as assert } from "node:assert";
import { allCapabilities, capabilitiesOf, checkSessionStore, type StoreCapability } from "../src/store/capabilities.js";
import type { CompleteSessionStore } from "../src/store/session-store.js";
import { appendCases } from "./session-store/append-cases.js";
import { expectationCases } from "./session-store/expectation-cases.js";
import { indexCases } from "./session-store/index-cases.js";
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
import { transferCases } from "./session-store/transfer-cases.js";
import { turnQueueCases } from "./session-store/turn-queue-cases.js";
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
 * sessions. Cases of capabilities that `probe` lacks are left out.
 *
 * @example
 * import { it } from "node:test";
 * import { InMemorySessionStore } from "langchain-redis-memory";
 * import { sessionStoreContract } from "langchain-redis-memory/testing";
 *
 * const setup = { create: () => new InMemorySessionStore(), probe: InMemorySessionStore.prototype };
 * for (const { title, run } of sessionStoreContract(setup)) {
 *   void it(title, run);
 * }
 */
export function sessionStoreContract(setup: StoreSetup): ContractCase[] {
  const groups = [
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
    indexCases,
    pageCases,
    forkCases,
    forkKnowledgeCases,
    expiryCases,
    transferCases,
    turnQueueCases,
    fenceCases,
    inputCases,
    keyCases,
    refusalCases,
  ];
  const capabilities = setup.probe === undefined ? allCapabilities : capabilitiesOf(setup.probe);
  const cases = [capabilityCase(capabilities), ...groups.flat()];
  return cases
    .filter(({ needs = [] }) => needs.every((capability) => capabilities.has(capability)))
    .map((storeCase, index) => ({
      title: storeCase.title,
      run: () => runCase(storeCase, { setup, index, capabilities }),
    }));
}

/** Keeps a store from being judged by the wrong cases. */
function capabilityCase(capabilities: ReadonlySet<StoreCapability>): StoreCase {
  return {
    title: "the store has the methods of the core, and the capabilities that its probe shows",
    async check({ store }) {
      checkSessionStore("sessionStoreContract", store);
      assert.deepEqual([...capabilitiesOf(store)].sort(), [...capabilities].sort());
    },
  };
}

interface CaseRun {
  readonly setup: StoreSetup;
  readonly index: number;
  readonly capabilities: ReadonlySet<StoreCapability>;
}

async function runCase(storeCase: StoreCase, { setup, index, capabilities }: CaseRun): Promise<void> {
  const store = await setup.create();
  const scale = setup.wait === undefined ? 1 : 100;
  const wait = setup.wait ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)));
  try {
    await storeCase.check({
      store: store as CompleteSessionStore,
      session: { id: `contract-${index}` },
      has: (capability) => capabilities.has(capability),
      damage: setup.damage && (async (sessionId) => void (await setup.damage!(store, sessionId))),
      time: (milliseconds) => milliseconds * scale,
      wait: async (milliseconds) => void (await wait(milliseconds * scale)),
    });
  } finally {
    await setup.destroy?.(store);
  }
}
