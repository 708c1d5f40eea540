import { BoundedMap } from "../base/bounded-map.js";
import type { SessionBeside } from "../store/beside.js";
import { passedOn } from "../store/groups.js";
import type { SideWrite } from "../store/side-fields.js";
import { sideField, type SealedCalls } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";
import { sealSide } from "./writes.js";

const maxSeen = 10_000;
/** Values that are expected are short, such as numbers. */
const maxSeenLength = 64;

type Fields = Readonly<Record<string, string>>;
type Expected = Readonly<Record<string, string | undefined>>;

/** Data beside the log: seals side fields; opens records of turns, rounds and pages. */
export function sealedBeside(beside: SessionBeside, callsOf: CallsOf): SessionBeside {
  const side = new SealedSide(beside);
  return {
    ...passedOn(beside, ["readStats", "readReductions", "restart", "acquireLease", "releaseLease", "extendExpiry"]),
    ...passedOn(beside, ["takeHold", "renewHold", "giveBackHold"]),
    readSide: async (session, prefix) => side.read(callsOf(session), prefix),
    writeSide: async (session, changes) => side.write(callsOf(session), changes),
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

/**
 * Side fields of a store, encrypted. Ciphertexts of equal values differ, so a compare-and-set first compares the
 * ciphertext that this process saw last for the expected value; if another is stored, its decrypted value.
 */
class SealedSide {
  readonly #beside: SessionBeside;
  readonly #seen = new BoundedMap<string, { readonly plain: string; readonly stored: string }>(maxSeen);

  constructor(beside: SessionBeside) {
    this.#beside = beside;
  }

  /** The fields whose names begin with a prefix. */
  async read(calls: SealedCalls, prefix: string): Promise<Fields> {
    const stored = await calls.read((caller) => this.#beside.readSide(caller, prefix));
    const plain = await calls.sideFields(stored);
    this.#note(calls.session.id, plain, stored);
    return plain;
  }

  /** Writes fields if the expected ones hold what is expected. */
  async write(calls: SealedCalls, changes: SideWrite): Promise<boolean> {
    const { expected } = changes;
    const { id } = calls.session;
    const isSet = Object.keys(changes.set ?? {}).length > 0;
    const send = (wanted: Expected | undefined) =>
      calls.write(
        async (caller, key) => {
          const sealed = { ...sealSide(key, changes)!, ...(wanted && { expected: wanted }) };
          const written = await this.#beside.writeSide(caller, sealed);
          this.#note(id, written ? changes.set : {}, sealed.set);
          return written;
        },
        (written) => written && isSet,
      );
    if (expected === undefined) {
      return send(undefined);
    }
    if (await send(this.#guess(id, expected))) {
      return true;
    }
    const stored = await this.#besided(calls, expected);
    return stored !== undefined && send(stored);
  }

  #note(sessionId: string, plain: Fields = {}, stored: Fields = {}): void {
    for (const [name, text] of Object.entries(plain)) {
      if (text.length <= maxSeenLength) {
        this.#seen.set(`${name} ${sessionId}`, { plain: text, stored: stored[name]! });
      }
    }
  }

  #guess(sessionId: string, expected: Expected): Expected {
    const guessed = Object.entries(expected).map(([name, plain]) => {
      const seen = this.#seen.get(`${name} ${sessionId}`);
      return [name, seen !== undefined && seen.plain === plain ? seen.stored : plain];
    });
    return Object.fromEntries(guessed) as Expected;
  }

  /** The stored texts of expected values; undefined where a field holds another value. */
  async #besided(calls: SealedCalls, expected: Expected): Promise<Expected | undefined> {
    const found: [string, string | undefined][] = [];
    for (const [name, plain] of Object.entries(expected)) {
      const text = (await calls.read((caller) => this.#beside.readSide(caller, name)))[name];
      if ((text === undefined ? undefined : await calls.field(sideField(name), text)) !== plain) {
        return undefined;
      }
      found.push([name, text]);
    }
    return Object.fromEntries(found);
  }
}
