import type { SessionBeside } from "../contract/beside.js";
import { passedOn } from "../contract/groups.js";
import { sealSideFields } from "./sealed-calls.js";
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
    writeSide: async (session, changes) => {
      const { expected } = changes;
      const isSet = Object.keys(changes.set ?? {}).length > 0;
      const write = (isPlain: boolean) =>
        callsOf(session).write(
          (caller, key) => {
            const wanted = expected && (isPlain ? expected : sealSideFields(key, expected));
            return beside.writeSide(caller, { ...sealSide(key, changes)!, ...(wanted && { expected: wanted }) });
          },
          (written) => written && isSet,
        );
      // The expected value may have been stored before the session was encrypted.
      return (await write(false)) || (expected !== undefined && write(true));
    },
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
