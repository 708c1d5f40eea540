import { MemoryError } from "../base/errors.js";
import { describedFrom, type DescribedSession } from "./entries.js";
import { sessionKeys } from "../redis/keys.js";
import { runOnSession, type ScriptRunner } from "../redis/script-runner.js";
import { describeSessionScript } from "../redis/lua/later-scripts.js";

/** Reads the details of sessions, one round trip each. */
export class SessionDescriber {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  /**
   * The session; undefined if it does not exist. `full` returns the whole metadata, also if lists show less.
   *
   * @throws ConflictError `other_owner`.
   */
  async describe(
    sessionId: string,
    { owner, full = false }: { readonly owner?: string | undefined; readonly full?: boolean } = {},
  ): Promise<DescribedSession | undefined> {
    const keys = [sessionKeys(this.#keyPrefix, sessionId).state];
    const args = [JSON.stringify({ owner, full })];
    const call = { script: describeSessionScript, keys, args, writes: false };
    const reply = await runOnSession(this.#runner, { operation: "describeSession", sessionId }, call);
    return describedFrom(sessionId, reply);
  }

  /**
   * The session if it belongs to the owner, `"damaged"` if its state is lost or no hash and it may be the owner's; else
   * undefined.
   */
  async describeOf(owner: string, sessionId: string): Promise<DescribedSession | "damaged" | undefined> {
    try {
      const described = await this.describe(sessionId, { owner });
      return described?.details.owner === owner ? described : undefined;
    } catch (error) {
      const code = MemoryError.isInstance(error) ? error.code : undefined;
      if (code === "other_owner") {
        return undefined;
      }
      if (code === "damaged" || code === "wrong_type") {
        return "damaged";
      }
      throw error;
    }
  }
}
