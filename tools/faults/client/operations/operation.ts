import type { SessionPlan } from "../../plan/session-plan.js";
import type { Random } from "../../../testkit/random.js";
import type { Lane } from "../lane.js";

/** Something that a client does with a session: one file each, listed in `all-operations.ts`. */
export interface Operation {
  readonly name: string;
  /** True for what goes on with a session that was erased. */
  readonly isRead?: true;
  /** True for what takes connections of its own, so that simulations leave it out. */
  readonly needsServers?: true;
  /** How often, beside the others; 0 for sessions that it is not for. */
  weight(session: SessionPlan): number;
  /** Does it. `random` holds what the seed says about it. Failures are noted in the journal, not thrown. */
  run(lane: Lane, random: Random): Promise<void>;
}
