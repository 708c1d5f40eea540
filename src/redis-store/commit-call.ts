import { randomToken } from "../base/ids.js";
import type { SessionRef } from "../store/session-ref.js";
import type { CommitRequest, RewindRequest } from "../store/session-writes.js";
import { lastHash } from "../redis/keys.js";
import { askOf } from "../redis/script-runner.js";
import { hashesOf, marksOf } from "./turn-marks.js";

/** The arguments of the script that commits a reduction. */
export function commitArguments(session: SessionRef, { head, discard, lastId, ...rest }: CommitRequest): string[] {
  const request = {
    ...rest,
    ...askOf(session),
    last: lastHash(lastId),
    newRev: randomToken(),
    discard: !!discard,
    remember: discard?.remember,
  };
  const turns = (discard?.turns ?? []).join("");
  return [JSON.stringify(request), head, hashesOf(discard?.forget ?? []), turns];
}

/** The arguments of the script that rewinds. */
export function rewindArguments(session: SessionRef, { forget, turns, lastId, ...rest }: RewindRequest): string[] {
  return [
    JSON.stringify({ ...rest, ...askOf(session), last: lastHash(lastId), newRev: randomToken() }),
    hashesOf(forget),
    ...marksOf(turns),
  ];
}
