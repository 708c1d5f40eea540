import { checkCommittedReductions } from "../support/committed-reductions.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

describe("a committed reduction, in Redis", () => {
  const client = sharedClient();

  it("is read back as the reducer returned it, for our reducers and others, and keeps the transcript", async () => {
    await checkCommittedReductions(
      () => ({ client, redis: { keyPrefix: uniquePrefix(), commandTimeout: 30_000 } }),
      propertyRuns(20),
    );
  });
});
