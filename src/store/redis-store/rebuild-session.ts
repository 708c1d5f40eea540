import { maxTries } from "../../base/tries.js";
import { randomToken } from "../../base/ids.js";
import { keptChanging, ownerLost } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import { askOf, type ScriptRunner, runOnSession } from "../redis/script-runner.js";
import { digestLength } from "../redis/stored-fields.js";
import { idHash, type SessionKeys } from "../redis/keys.js";
import { beginsRound } from "../contract/record-text.js";
import { readAllScript, rebuildScript } from "../redis/lua/later-scripts.js";
import type { IdentifiedRecord } from "../contract/session-writes.js";
import { marksIn } from "../contract/turns.js";
import { logSum } from "../redis/keys.js";
import { sizesOf } from "./turn-marks.js";
import type { CallName } from "../redis/errors.js";

const pageLength = 1_000;
/** Context of a rebuild. */
export interface Rebuild {
  readonly session: SessionRef;
  /** True to assign the owner of `session` if the owner is lost. */
  readonly assigns: boolean;
  readonly runner: ScriptRunner;
  readonly name: CallName;
  readonly keys: SessionKeys;
  readonly identify: (record: string, position: number) => IdentifiedRecord | undefined;
}

interface LogReading {
  readonly length: number;
  /** Epoch, rev, base and next, as stored in `state`. */
  readonly fields: readonly string[];
  readonly rounds: number;
  readonly sum: number;
  readonly identities: string;
  /** For each turn its name, the beginning of its mark, and the index of its first record. */
  readonly turns: readonly string[];
}

/**
 * Derives `ids` and `state` from the log, page by page, and writes them by compare-and-set. Returns the owner, or `""`.
 *
 * @throws ConflictError `stale` if it changed during each try, `other_owner`; StoreError `erased`, and `damaged` if its
 *   owner is lost.
 */
export async function rebuildSession(rebuild: Rebuild): Promise<string> {
  const { runner, name, keys, session, assigns } = rebuild;
  for (let count = 0; count < maxTries.write; count += 1) {
    const { identities, turns, ...read } = await readWholeLog(rebuild);
    const request = { ...read, newEpoch: randomToken(), newRev: randomToken(), assigns, ...askOf(session) };
    const args = [JSON.stringify(request), identities, ...turns];
    const call = { script: rebuildScript, keys: [keys.log, keys.ids, keys.state], args, writes: true };
    const [word, found] = (await runOnSession(runner, name, call)) as [string, string?];
    if (word === "OWNED") {
      throw ownerLost(name.sessionId);
    }
    if (word === "REBUILT") {
      return found!;
    }
  }
  throw keptChanging("rebuild", name.sessionId);
}

async function readWholeLog({ runner, session, assigns, name, keys, identify }: Rebuild): Promise<LogReading> {
  const seen = new Set<string>();
  const identities: string[] = [];
  const identified: (IdentifiedRecord | undefined)[] = [];
  let rounds = 0;
  let sum = 0;
  for (;;) {
    const args = [
      JSON.stringify({ ...askOf(session), assigns }),
      identified.length,
      identified.length + pageLength - 1,
    ];
    const call = { script: readAllScript, keys: [keys.log, keys.ids, keys.state], args, writes: false };
    const [, records, fields] = (await runOnSession(runner, name, call)) as [string, string[], string[]];
    const base = /^\d{1,14}$/.test(fields[2]!) ? Number(fields[2]) : 0;
    sum = logSum(records, sum);
    for (const record of records) {
      const position = base + identified.length;
      const identity = identify(record, position);
      identified.push(identity);
      identities.push(packedIdentity(identity, { position, seen }));
      rounds += beginsRound(record) ? 1 : 0;
    }
    if (records.length < pageLength) {
      return {
        length: identified.length,
        fields,
        rounds,
        sum,
        identities: identities.join(""),
        turns: [...marksIn(identified)].flatMap(([turn, mark]) => [turn, sizesOf(mark), String(mark.first)]),
      };
    }
  }
}

// Every record needs an entry, or the session would still count as damaged: a record without an id gets one that no
// message has.
function packedIdentity(
  identity: IdentifiedRecord | undefined,
  { position, seen }: { readonly position: number; readonly seen: Set<string> },
): string {
  const hash = identity === undefined ? undefined : idHash(identity.id);
  if (hash === undefined || seen.has(hash)) {
    return idHash(`\u0000unreadable\u0000${position}`) + "-".repeat(digestLength);
  }
  seen.add(hash);
  return hash + identity!.digest;
}
