import { randomToken } from "../../base/ids.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { CommitRequest, RewindRequest } from "../contract/session-writes.js";
import { lastHash } from "../redis/keys.js";
import { askOf } from "../redis/script-runner.js";
import { hashesOf, lossesOf } from "./turn-marks.js";

/** The arguments of the script that commits a reduction, after which the session has the `newRev`. */
export function commitArguments(
  session: SessionRef,
  { head, discard = false, lastId, ...rest }: CommitRequest,
  newRev: string,
): string[] {
  const request = { ...rest, ...askOf(session), last: lastHash(lastId), newRev, discard };
  return [JSON.stringify(request), head];
}

/** The arguments of the script that rewinds. */
export function rewindArguments(session: SessionRef, { forget, turns, lastId, ...rest }: RewindRequest): string[] {
  return [
    JSON.stringify({ ...rest, ...askOf(session), last: lastHash(lastId), newRev: randomToken() }),
    hashesOf(forget),
    ...lossesOf(turns),
  ];
}
