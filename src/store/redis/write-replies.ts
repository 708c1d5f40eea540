import { damaged, erased, keysNeeded, otherOwner } from "../refusals.js";
import type { CallName } from "./redis-errors.js";

/**
 * The reply of a script that writes.
 *
 * @throws StoreError `damaged` and `erased`, ConflictError `other_owner`, and EncryptionError, where it stands for one.
 */
export function checkedReply({ operation, sessionId }: CallName, reply: unknown): unknown {
  if (reply === "DAMAGED") {
    throw damaged(operation, sessionId);
  }
  const word: unknown = Array.isArray(reply) ? reply[0] : reply;
  if (word === "ERASED") {
    throw erased(operation, sessionId);
  }
  if (word === "OWNER") {
    throw otherOwner(sessionId);
  }
  if (Array.isArray(reply) && word === "KEY") {
    throw keysNeeded(sessionId, String(reply[1]));
  }
  return reply;
}
