import type { SessionRef } from "../contract/session-ref.js";
import type { SessionView } from "../contract/session-reads.js";
import type { CommitRequest } from "../contract/session-writes.js";
import { lastHash, sha1 } from "../redis/keys.js";
import { askOf } from "../redis/script-runner.js";

/**
 * The arguments of the script that commits a reduction; of the head only what is behind its beginning that the one at
 * `rev` has too. A sealed head has none: it may be sealed again under the same `rev`.
 */
export function commitArguments(
  session: SessionRef,
  { head, discard = false, lastId, ...rest }: CommitRequest,
  { newRev, view }: { readonly newRev: string; readonly view: SessionView | undefined },
): (string | Buffer)[] {
  const isKnown = view?.rev === rest.rev && session.keys === undefined;
  const [bytes, before] = [Buffer.from(head), Buffer.from(isKnown ? view.head : "")];
  let shared = 0;
  while (shared < bytes.length && bytes[shared] === before[shared]) {
    shared += 1;
  }
  // Somebody may have changed the head by hand since.
  const beginning = { shared, sharedHash: sha1(bytes.subarray(0, shared)) };
  const request = { ...rest, ...askOf(session), last: lastHash(lastId), newRev, discard, ...beginning };
  return [JSON.stringify(request), bytes.subarray(shared)];
}
