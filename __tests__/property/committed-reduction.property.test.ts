import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { checkCommittedReductions } from "../support/committed-reductions.js";
import { propertyRuns } from "../support/property-runs.js";

describe("a committed reduction, in the embedded store", () => {
  it("is read back as the reducer returned it, for our reducers and others, and keeps the transcript", async () => {
    const store = new InMemorySessionStore();
    await checkCommittedReductions(() => ({ store }), propertyRuns(60));
  });
});
