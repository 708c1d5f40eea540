import type { SessionBeside } from "../contract/beside.js";
import { passedOn } from "../contract/groups.js";
import type { SideWrite } from "../contract/side-fields.js";
import { sealSideFields, type SealedCalls } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";
import { sealSide } from "./writes.js";

/** Data beside the log: seals side fields; opens records of turns, rounds and pages. */
export function sealedBeside(beside: SessionBeside, callsOf: CallsOf): SessionBeside {
  return {
    ...passedOn(beside, ["readStats", "readReductions", "restart", "acquireLease", "releaseLease", "extendExpiry"]),
    ...passedOn(beside, ["takeHold", "renewHold", "giveBackHold"]),
    readSide: async (session, prefix) => {
      const calls = callsOf(session);
      return calls.sideFields(await calls.read((caller) => beside.readSide(caller, prefix)));
    },
    writeSide: async (session, changes) => writeSide(beside, callsOf(session), changes),
    readTurn: async (session, name) => {
      const calls = callsOf(session);
      const turn = await calls.read((caller) => beside.readTurn(caller, name));
      return turn && calls.opened(turn);
    },
    readRounds: async (session, count) => {
      const calls = callsOf(session);
      return calls.opened(await calls.read((caller) => beside.readRounds(caller, count)));
    },
    readPage: async (session, request) => {
      const calls = callsOf(session);
      const page = await calls.read((caller) => beside.readPage(caller, request));
      return page && calls.view(page);
    },
  };
}

async function writeSide(beside: SessionBeside, calls: SealedCalls, changes: SideWrite): Promise<boolean> {
  const { expected, set = {} } = changes;
  const write = (stored: Readonly<Record<string, string>> = {}) =>
    calls.write(
      (caller, key) => {
        const wanted = expected && { ...sealSideFields(key, expected), ...stored };
        return beside.writeSide(caller, { ...sealSide(key, changes)!, ...(wanted && { expected: wanted }) });
      },
      (written) => written && Object.keys(set).length > 0,
    );
  const isWritten = await write();
  if (isWritten || expected === undefined) {
    return isWritten;
  }
  // A value may have been stored before the session was encrypted.
  const side = await calls.read((caller) => beside.readSide(caller, ""));
  const plain = Object.entries(side).filter(([name, text]) => expected[name] === text);
  return plain.length > 0 && write(Object.fromEntries(plain));
}
