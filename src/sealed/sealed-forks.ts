import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/sealed-field.js";
import type { SessionKey } from "./keys/session-key.js";
import { checkSessionId, type SessionRef } from "../store/session-ref.js";
import type { CopiedRecord, ForkedSession, ForkRequest, SessionForks } from "../store/session-forks.js";
import { sealLabel } from "./sealed-lists.js";
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

  async fork(session: SessionRef, target: SessionRef, request: ForkRequest): Promise<ForkedSession | undefined> {
    checkSessionId(session.id);
    checkSessionId(target.id);
    const key = await this.#ring.current(target.id);
    const source = new SealedWrites(this.#ring, session);
    const seal = (name: string, text: string) =>
      key === undefined || plainFields.has(name) ? text : sealField(key, name, text);
    return source.send(async (caller) => {
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
          return await this.#inner.fork(caller, sealedTarget(key, target), {
            ...request,
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

/** A new session as the store underneath is told of it. */
function sealedTarget(key: SessionKey | undefined, target: SessionRef): SessionRef {
  return {
    ...target,
    ...(key && { keys: { current: key.tag, known: [key.tag] } }),
    ...(target.label && { label: sealLabel(key, target.label) }),
  };
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
