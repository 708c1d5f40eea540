import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";

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
