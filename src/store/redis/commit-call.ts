import { randomToken } from "../random-token.js";
import type { CommitRequest } from "../session-store.js";
import { hashesOf } from "./turn-marks.js";

/** The arguments of the script that commits a reduction. */
export function commitArguments({ head, discard, ...rest }: CommitRequest): string[] {
  const request = { ...rest, newRev: randomToken(), discard: discard !== undefined };
  const turns = (discard?.turns ?? []).join("");
  return [JSON.stringify(request), head, hashesOf(discard?.forget ?? []), turns];
}
