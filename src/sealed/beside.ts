import { BoundedMap } from "../base/bounded-map.js";
import { sealField } from "./keys/field.js";
import type { SessionKey } from "./keys/session-key.js";
import type { SessionBeside } from "../store/beside.js";
import { passedOn } from "../store/groups.js";
import type { SideWrite } from "../store/side-fields.js";
import type { SessionRef } from "../store/session-ref.js";
import { sealSide, sideField, type SealedWrites } from "./writes.js";

const maxSeen = 10_000;
/** Values that are expected are short, such as numbers. */
const maxSeenLength = 64;

type Fields = Readonly<Record<string, string>>;
type Expected = Readonly<Record<string, string | undefined>>;

/** Data beside the log: seals side fields; opens records of turns, rounds and pages. */
export function sealedBeside(beside: SessionBeside, writes: (session: SessionRef) => SealedWrites): SessionBeside {
  const side = new SealedSide(beside);
  return {
    ...passedOn("beside", beside),
    readSide: async (session, prefix) => side.read(writes(session), prefix),
    writeSide: async (session, changes) => side.write(writes(session), changes),
    readTurn: async (session, name) => {
      const turn = await beside.readTurn(session, name);
      return turn && writes(session).opened(turn);
    },
    readRounds: async (session, count) => writes(session).opened(await beside.readRounds(session, count)),
    readPage: async (session, request) => {
      const page = await beside.readPage(session, request);
      return page && writes(session).opener.view(page);
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
  async read({ opener, session }: SealedWrites, prefix: string): Promise<Fields> {
    const stored = await this.#beside.readSide(session, prefix);
    const opened: [string, string][] = [];
    for (const [name, text] of Object.entries(stored)) {
      const plain = await opener.field(sideField(name), text);
      opened.push([name, plain]);
    }
    const plain = Object.fromEntries(opened);
    this.#note(session.id, plain, stored);
    return plain;
  }

  /** Writes fields if the expected ones hold what is expected. */
  async write(writes: SealedWrites, changes: SideWrite): Promise<boolean> {
    const { expected } = changes;
    const { id } = writes.session;
    const send = (wanted: Expected | undefined) =>
      writes.send(async (caller, key) => {
        const sealed = sealSide(key, changes)!;
        const written = await this.#beside.writeSide(caller, { ...sealed, ...(wanted && { expected: wanted }) });
        this.#note(id, written ? changes.set : {}, sealed.set);
        return written;
      });
    if (expected === undefined) {
      return send(undefined);
    }
    if (await send(this.#guess(id, expected))) {
      return true;
    }
    const stored = await this.#besided(writes, expected);
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
  async #besided({ opener, session }: SealedWrites, expected: Expected): Promise<Expected | undefined> {
    const found: [string, string | undefined][] = [];
    for (const [name, plain] of Object.entries(expected)) {
      const text = (await this.#beside.readSide(session, name))[name];
      if ((text === undefined ? undefined : await opener.field(sideField(name), text)) !== plain) {
        return undefined;
      }
      found.push([name, text]);
    }
    return Object.fromEntries(found);
  }
}

/** A text for a field that a store keeps as it is, under the field's name. */
export function sealText(key: SessionKey | undefined, name: string, text: string): string {
  return key === undefined ? text : sealField(key, name, text);
}
