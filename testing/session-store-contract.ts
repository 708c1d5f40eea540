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

/** The contract of a `SessionStore` as tests: each case makes its own store and its own sessions. */
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
  return all.flat().map((storeCase, index) => ({
    title: storeCase.title,
    run: () => runCase(storeCase, { setup, index }),
  }));
}

interface CaseRun {
  readonly setup: StoreSetup;
  readonly index: number;
}

async function runCase(storeCase: StoreCase, { setup, index }: CaseRun): Promise<void> {
  const store = await setup.create();
  const scale = setup.wait === undefined ? 1 : 100;
  const wait = setup.wait ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)));
  try {
    await storeCase.check({
      store,
      session: { id: `contract-${index}` },
      damage: setup.damage && (async (sessionId) => void (await setup.damage!(store, sessionId))),
      time: (milliseconds) => milliseconds * scale,
      wait: async (milliseconds) => void (await wait(milliseconds * scale)),
    });
  } finally {
    await setup.destroy?.(store);
  }
}
