import { damaged, keysNeeded } from "../refusals.js";
import type { CallName } from "./redis-errors.js";

/**
 * The reply of a script that writes.
 *
 * @throws StoreError `damaged` and EncryptionError, where it stands for one.
 */
export function checkedReply({ operation, sessionId }: CallName, reply: unknown): unknown {
  if (reply === "DAMAGED") {
    throw damaged(operation, sessionId);
  }
  if (Array.isArray(reply) && reply[0] === "KEY") {
    throw keysNeeded(sessionId, String(reply[1]));
  }
  return reply;
}
