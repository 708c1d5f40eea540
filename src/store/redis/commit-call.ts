import { randomToken } from "../random-token.js";
import type { CommitRequest, RewindRequest } from "../session-store.js";
import { hashesOf, marksOf } from "./turn-marks.js";

/** The arguments of the script that commits a reduction. */
export function commitArguments({ head, discard, ...rest }: CommitRequest): string[] {
  const request = { ...rest, newRev: randomToken(), discard: !!discard, remember: discard?.remember };
  const turns = (discard?.turns ?? []).join("");
  return [JSON.stringify(request), head, hashesOf(discard?.forget ?? []), turns];
}

/** The arguments of the script that rewinds. */
export function rewindArguments({ forget, turns, ...rest }: RewindRequest): string[] {
  return [JSON.stringify({ ...rest, newRev: randomToken() }), hashesOf(forget), ...marksOf(turns)];
}
