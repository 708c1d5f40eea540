import { appendCases } from "./session-store/append-cases.js";
import { expectationCases } from "./session-store/expectation-cases.js";
import { inputCases } from "./session-store/input-cases.js";
import { lifeCases } from "./session-store/life-cases.js";
import { readCases } from "./session-store/read-cases.js";
import { reductionCases } from "./session-store/reduction-cases.js";
import { rewindCases } from "./session-store/rewind-cases.js";
import { sideCases } from "./session-store/side-cases.js";
import type { StoreCase, StoreSetup } from "./session-store/store-case.js";
import { viewLimitCases } from "./session-store/view-limit-cases.js";

/** One promise of a contract: its title, and a run that rejects where the promise is broken. */
export interface ContractCase {
  readonly title: string;
  run(): Promise<void>;
}

/**
 * The contract of {@link SessionStore} as tests, for any test framework: each case makes its own store and its own
 * sessions.
 *
 * @example
 * for (const { title, run } of sessionStoreContract({ create: () => new MyStore(), destroy: (store) => store.close() })) {
 *   it(title, run);
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
    inputCases,
  ];
  return groups
    .flat()
    .map((storeCase, index) => ({ title: storeCase.title, run: () => runCase(storeCase, { setup, index }) }));
}

async function runCase(
  storeCase: StoreCase,
  { setup, index }: { readonly setup: StoreSetup; readonly index: number },
): Promise<void> {
  const store = await setup.create();
  const wait = setup.wait ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)));
  try {
    await storeCase.check({
      store,
      session: `contract-${index}`,
      wait: async (milliseconds) => void (await wait(milliseconds)),
    });
  } finally {
    await setup.destroy?.(store);
  }
}
