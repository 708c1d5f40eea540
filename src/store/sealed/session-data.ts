import type { SessionData } from "../contract/session-data.js";
import type { StoredPage } from "../contract/session-pages.js";
import type { SideWrite } from "../contract/side-fields.js";
import type { Stored, WithTexts } from "../contract/stored-texts.js";
import { sealFields, type SealedCalls } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";

/** Data beside the log: seals side fields; opens records of pages. */
export function sealedData(data: Stored<SessionData>, callsOf: CallsOf): WithTexts<SessionData> {
  return {
    readSide: async (session, prefix) => {
      const calls = callsOf(session);
      const side = await calls.read((caller) => data.readSide(caller, prefix));
      return calls.opened<{ readonly side: Record<string, string> }>({ side }).side;
    },
    writeSide: (session, changes) => writeSide(data, callsOf(session), changes),
    readPage: (session, request) =>
      callsOf(session).readTexts<StoredPage | undefined>((caller) => data.readPage(caller, request)),
  };
}

async function writeSide(
  data: Stored<SessionData>,
  calls: SealedCalls,
  { expected, set = {}, ...changes }: SideWrite,
): Promise<boolean> {
  const write = (asStored: Stored<Readonly<Record<string, string>>> = {}) =>
    calls.write(
      (caller, key) => {
        const wanted = expected && { expected: { ...sealFields(key, expected), ...asStored } };
        return data.writeSide(caller, { ...changes, set: sealFields(key, set), ...wanted });
      },
      (written) => written && Object.keys(set).length > 0,
    );
  const isWritten = await write();
  if (isWritten || expected === undefined) {
    return isWritten;
  }
  // A value may have been stored before the session was encrypted.
  const side = await calls.read((caller) => data.readSide(caller, ""));
  const plain = Object.entries(side).filter(([name, text]) => expected[name] === (text as unknown));
  return plain.length > 0 && write(Object.fromEntries(plain));
}
