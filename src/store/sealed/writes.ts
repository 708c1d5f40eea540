import { EncryptionError } from "../../base/errors.js";
import { OtherDigests } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { SessionView } from "../contract/session-reads.js";
import type { AppendRequest, AppendResult, NewRecord } from "../contract/session-writes.js";
import type { SideChanges } from "../contract/side-fields.js";
import type { SessionKey } from "./keys/session-key.js";
import { sealRecord } from "./record.js";
import { sealSideFields, type SealedCalls } from "./sealed-calls.js";

/**
 * Seals an append and sends it. Where ids may be those of plain records, it is sent again with their digests too, so
 * that a repetition is one also where encryption was switched on in between.
 */
export async function sealedAppend<Result extends AppendResult | "stale", Request extends AppendRequest>(
  calls: SealedCalls,
  request: Request,
  send: (caller: SessionRef, sealed: Request) => Promise<Result>,
): Promise<Result> {
  const isSet = Object.keys(request.side?.set ?? {}).length > 0;
  const stores = (result: AppendResult | "stale") =>
    result !== "stale" &&
    (result.appended > 0 || (isSet && result.turn === undefined && result.place?.isHeld !== false));
  const sent = (hasOther: boolean) =>
    calls.write((caller, key) => send(caller, sealRequest(key, request, hasOther)), stores);
  const result = await sent(false).catch((error: unknown) => {
    if (error instanceof OtherDigests) {
      return sent(true);
    }
    throw error;
  });
  return result === "stale" ? result : ((await openedResult(calls, result)) as Result);
}

function sealRequest<Request extends AppendRequest>(
  key: SessionKey | undefined,
  request: Request,
  hasOther: boolean,
): Request {
  const side = sealSide(key, request.side);
  return { ...request, ...(side && { side }), records: request.records.map((each) => sealNew(key, each, hasOther)) };
}

async function openedResult(calls: SealedCalls, result: AppendResult): Promise<AppendResult> {
  const { view, turn } = result;
  if (view === undefined && turn === undefined) {
    return result;
  }
  const { view: _, ...written } = result;
  const opened = view && (await openedView(calls, view));
  return {
    ...written,
    ...(opened && { view: opened }),
    ...(turn && { turn: await calls.opened(turn) }),
  };
}

/** Undefined for a view that cannot be opened: the write has happened, and the next read reports the reason. */
async function openedView(calls: SealedCalls, view: SessionView): Promise<SessionView | undefined> {
  try {
    return await calls.view(view);
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      return undefined;
    }
    throw error;
  }
}

/** Side changes with sealed values. */
export function sealSide<Changes extends SideChanges>(
  key: SessionKey | undefined,
  side: Changes | undefined,
): Changes | undefined {
  return key === undefined || side?.set === undefined ? side : { ...side, set: sealSideFields(key, side.set) };
}

/** A record to append, sealed. */
function sealNew(key: SessionKey | undefined, record: NewRecord, hasOther: boolean): NewRecord {
  if (key === undefined) {
    return record;
  }
  const sealed = { digest: key.digest(record.digest), record: sealRecord(key, record.record, record.id) };
  return { ...record, ...sealed, ...(hasOther && { otherDigest: record.digest }) };
}
