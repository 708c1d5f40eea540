import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/sealed-field.js";
import type { SessionKey } from "./keys/session-key.js";
import { checkSessionId } from "../store/session-id-rules.js";
import type { CopiedRecord, ForkedSession, ForkRequest, SessionForks } from "../store/session-forks.js";
import { sealRecord } from "./sealed-record.js";
import { SealedWrites } from "./sealed-writes.js";

/** Fields that stay plain, because scripts compare them. */
const plainFields: ReadonlySet<string> = new Set(["owner", "label"]);

/** Copies of encrypted sessions: what is copied is opened, and sealed again under the new session's key. */
export class SealedForks implements SessionForks {
  readonly #inner: SessionForks;
  readonly #ring: KeyRing;

  constructor(inner: SessionForks, ring: KeyRing) {
    this.#inner = inner;
    this.#ring = ring;
  }

  async fork(sessionId: string, newSessionId: string, request: ForkRequest): Promise<ForkedSession | undefined> {
    checkSessionId(sessionId);
    checkSessionId(newSessionId);
    const key = await this.#ring.current(newSessionId);
    const source = new SealedWrites(this.#ring, sessionId);
    const seal = (name: string, text: string) =>
      key === undefined || plainFields.has(name) ? text : sealField(key, name, text);
    const given = Object.entries(request.fields ?? {}).map(([name, text]) => [name, seal(name, text)]);
    const fields = Object.fromEntries(given) as Record<string, string>;
    return source.send(async (keys) => {
      for (;;) {
        // Copying cannot wait: for a key that is not at hand it stops, and goes on with that key where it stopped.
        let missing: string | undefined;
        const plainOf = <T extends object>(opened: T | { readonly missing: string }): T => {
          if ("missing" in opened) {
            missing = opened.missing;
            throw new Error("A key has to be asked for.");
          }
          return opened;
        };
        try {
          return await this.#inner.fork(sessionId, newSessionId, {
            ...{ ...request, fields, keys, ...(key && { key: key.tag }) },
            copyRecord: (record, position) =>
              sealedCopy(key, request.copyRecord(plainOf(source.opener.recordNow(record)).plain, position)),
            ...(request.identifyHead && {
              identifyHead: (head) => request.identifyHead!(plainOf(source.opener.fieldNow("head", head)).plain),
            }),
            copyField: (name, text) => seal(name, plainOf(source.opener.fieldNow(name, text)).plain),
          });
        } catch (error) {
          if (missing === undefined) {
            throw error;
          }
          await source.opener.key(missing);
        }
      }
    });
  }
}

/** A record of a new session, sealed; what cannot be read stays as it is. */
export function sealedCopy(key: SessionKey | undefined, copied: CopiedRecord): CopiedRecord {
  const { record, identity } = copied;
  if (key === undefined || identity === undefined) {
    return copied;
  }
  return {
    record: sealRecord(key, record, identity.id),
    identity: { ...identity, digest: key.digest(identity.digest) },
  };
}
