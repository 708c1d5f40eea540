import { EncryptionError } from "../../base/errors.js";
import { OtherDigests } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { SessionView } from "../contract/session-reads.js";
import type { AppendRequest, AppendResult } from "../contract/session-writes.js";
import type { Stored } from "../contract/stored-texts.js";
import type { StoredTurn } from "../contract/turns.js";
import { sealFields, type SealedCalls } from "./sealed-calls.js";

type AppendTexts = Pick<AppendRequest, "records" | "side">;

/**
 * Seals an append and sends it. Where ids may be those of plain records, it is sent again with their digests too, so
 * that a repetition is one also where encryption was switched on in between.
 */
export async function sealedAppend<Other extends "stale" = never>(
  calls: SealedCalls,
  texts: AppendTexts,
  send: (caller: Stored<SessionRef>, sealed: Stored<AppendTexts>) => Promise<Stored<AppendResult> | Other>,
): Promise<AppendResult | Other> {
  const { records, side } = texts;
  const { set, ...changes } = side ?? {};
  const isSet = Object.keys(set ?? {}).length > 0;
  const stores = (result: Stored<AppendResult> | Other) =>
    typeof result !== "string" &&
    (result.appended > 0 || (isSet && result.turn === undefined && result.place?.isHeld !== false));
  const sent = (hasOther: boolean) =>
    calls.write((caller, key) => {
      const sealed = records.map((record) => calls.sealNew(key, record, hasOther));
      const sealedSide = side && { side: { ...changes, ...(set && { set: sealFields(key, set) }) } };
      return send(caller, { records: sealed, ...sealedSide });
    }, stores);
  const result = await sent(false).catch((error: unknown) => {
    if (error instanceof OtherDigests) {
      return sent(true);
    }
    throw error;
  });
  return typeof result === "string" ? result : openedResult(calls, result);
}

function openedResult(calls: SealedCalls, { view, turn, ...written }: Stored<AppendResult>): AppendResult {
  const opened = view && openedView(calls, view);
  return { ...written, ...(opened && { view: opened }), ...(turn && { turn: calls.opened<StoredTurn>(turn) }) };
}

/** Undefined for a view that cannot be opened: the write has happened, and the next read reports the reason. */
function openedView(calls: SealedCalls, view: Stored<SessionView>): SessionView | undefined {
  try {
    return calls.opened<SessionView>(view);
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      return undefined;
    }
    throw error;
  }
}
