import { damaged, epochConflict, erased, fenced, keysNeeded, otherOwner } from "../store/refusals.js";
import type { CallName } from "../redis/errors.js";

/**
 * The reply of a script that writes.
 *
 * @throws StoreError `damaged` and `erased`, ConflictError `epoch`, `fenced` and `other_owner`, and EncryptionError.
 */
export function checkedReply({ operation, sessionId }: CallName, reply: unknown): unknown {
  if (reply === "DAMAGED") {
    throw damaged(operation, sessionId);
  }
  if (reply === "EPOCH") {
    throw epochConflict(sessionId);
  }
  if (reply === "FENCED") {
    throw fenced(sessionId);
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
