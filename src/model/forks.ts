import { alreadyExists, positionConflict, refuseDiscarded } from "../store/refusals.js";
import { beginsRound } from "../store/record-text.js";
import { anyDigest } from "../store/session-writes.js";
import { randomToken } from "../base/ids.js";
import { checkFork, type ForkedSession, type ForkRequest, type SessionForks } from "../store/session-forks.js";
import type { SessionRef } from "../store/session-ref.js";
import { newSession, nextPosition, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

/** Copies of the sessions of a store in memory. */
export class InMemoryForks implements SessionForks {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async fork(session: SessionRef, target: SessionRef, request: ForkRequest): Promise<ForkedSession | undefined> {
    checkFork(session, target, request);
    return this.#sessions.call("fork", session, () => {
      const source = this.#sessions.writable("fork", session, ["key"]);
      if (source === undefined) {
        return undefined;
      }
      const next = nextPosition(source);
      if ((request.at ?? 0) > next) {
        throw positionConflict(session.id, request.at!, next);
      }
      refuseDiscarded(session.id, request.at, { base: source.base, next });
      if (this.#sessions.writable("fork", { id: target.id }, ["erased"]) !== undefined) {
        throw alreadyExists(target.id);
      }
      const copy = copyOf(source, target, request);
      this.#sessions.keep(target.id, copy, request.ttlMs);
      return { epoch: copy.epoch, next: nextPosition(copy) };
    });
  }
}

function copyOf(source: InMemorySession, target: SessionRef, request: ForkRequest): InMemorySession {
  const { copyField = (_: string, text: string) => text } = request;
  const copy = newSession();
  copy.key = target.keys?.current ?? "";
  nameCopy(copy.ownership, source.ownership, { target, request });
  source.side.forEach((text, name) => copy.side.set(name, copyField(`side:${name}`, text)));
  const to = Math.max(source.base, request.at ?? nextPosition(source));
  if ((request.at ?? to) < source.base || to === 0) {
    return copy;
  }
  copyRecords(source, copy, { request, to });
  copy.base = source.base;
  const isWhole = source.start > to;
  copy.start = isWhole ? source.base : source.start;
  copy.head = isWhole || source.head === "" ? "" : copyField("head", source.head);
  copy.headCount = isWhole || source.head === "" ? 0 : source.headCount;
  copy.total = { tokens: undefined, counter: "" };
  copyDiscarded(source, copy, request);
  return copy;
}

/** What the copy knows of messages whose records were discarded; see {@link anyDigest}. */
function copyDiscarded(source: InMemorySession, copy: InMemorySession, request: ForkRequest): void {
  const isPlain = source.key === "" && copy.key === "";
  const note = (id: string) => {
    const digest = source.ids.get(id)?.digest;
    if (digest === undefined || copy.ids.has(id)) {
      return false;
    }
    copy.ids.set(id, { digest: isPlain ? digest : anyDigest, position: -1 });
    return true;
  };
  (copy.head === "" ? [] : (request.identifyHead?.(source.head) ?? [])).forEach(note);
  copy.discarded.push(...source.discarded.filter(({ id }) => note(id)));
}

function copyRecords(
  { base, log, turns }: InMemorySession,
  copy: InMemorySession,
  { request, to }: { readonly request: ForkRequest; readonly to: number },
): void {
  const counts = new Map<string, { count: number; first: number }>();
  log.slice(0, to - base).forEach((text, index) => {
    const position = base + index;
    const { record, identity } = request.copyRecord(text, position);
    copy.log.push(record);
    copy.rounds += beginsRound(record) ? 1 : 0;
    if (identity !== undefined && !copy.ids.has(identity.id)) {
      copy.ids.set(identity.id, { digest: identity.digest, position });
    }
    const name = identity?.turn?.name;
    if (name !== undefined) {
      const { count = 0, first = position } = counts.get(name) ?? {};
      counts.set(name, { count: count + 1, first });
    }
  });
  for (const name of turns.discarded) {
    copy.turns.discarded.push(name);
    copy.turns.marks.set(name, { done: true, count: 0, first: 0 });
  }
  for (const [name, { count, first }] of counts) {
    const mark = turns.marks.get(name);
    copy.turns.marks.set(name, { done: mark?.done === true && mark.count === count, count, first });
  }
}

/** Whose the copy is, and what it is called: as the target says, else as the source. */
function nameCopy(
  copy: InMemorySession["ownership"],
  source: InMemorySession["ownership"],
  { target, request }: { readonly target: SessionRef; readonly request: ForkRequest },
): void {
  const { copyField = (_, text) => text } = request;
  const owner = target.owner ?? source.owner;
  const given = target.label ?? {};
  const kept = Object.entries(source.label).filter(([name]) => !Object.hasOwn(given, name));
  const label = Object.fromEntries(kept.map(([name, text]) => [name, copyField(name, text as string)]));
  Object.assign(copy, {
    ...(owner !== undefined && { owner }),
    label: { ...label, ...given },
    labelVersion: target.label !== undefined ? randomToken() : source.labelVersion,
  });
}
