import { anyDigest } from "../store/session-writes.js";
import { randomToken } from "../base/ids.js";
import { isCopiedField, type ForkRequest } from "../store/session-forks.js";
import type { SessionRef } from "../store/session-ref.js";
import { digestLength, idHashLength, discardedEntryLength } from "../redis/stored-fields.js";
import { idHash } from "../redis/keys.js";

interface CopyOfState {
  /** The new session. */
  readonly copy: SessionRef;
  readonly request: ForkRequest;
  readonly base: number;
  readonly next: number;
  /** False for a copy that begins in front of the first record. */
  readonly hasLog: boolean;
  /** Packed names of turns without records. */
  readonly turns: string;
}

/** Fields of the new session's `state` besides its numbers: the view's where it is in the copy, and what it keeps. */
export function fieldsOfCopy(state: ReadonlyMap<string, string>, of: CopyOfState): string[] {
  const { copy, request } = of;
  const { copyField = (_, text) => text } = request;
  const own = ownFields(copy);
  const kept = [...state].filter(([name]) => isCopiedField(name) && !Object.hasOwn(own, name));
  const key = copy.keys?.current === undefined ? [] : [["key", copy.keys.current]];
  const pairs = [...key, ...kept.map(([name, text]) => [name, copyField(name, text)]), ...Object.entries(own)];
  if (of.hasLog) {
    const start = Number(state.get("start") ?? 0);
    const isWhole = start > of.next;
    pairs.push(["start", String(isWhole ? of.base : start)]);
    const head = isWhole ? "" : (state.get("head") ?? "");
    const count = ["headCount", state.get("headCount") ?? "0"];
    pairs.push(...(head === "" ? [] : [["head", copyField("head", head)], count]));
    pairs.push(...(of.turns === "" ? [] : [["turns", of.turns]]));
  }
  return pairs.flat();
}

/** What the copy has in the place of the source's: its owner and texts of its label. */
function ownFields({ owner, label }: SessionRef): Record<string, string> {
  return {
    ...(owner !== undefined && { owner }),
    ...(label !== undefined && { label: randomToken(), ...label }),
  };
}

/** Hashes of the ids of the messages in a head. */
export function headHashes({ identifyHead }: ForkRequest, head: string): string[] {
  return head === "" || identifyHead === undefined ? [] : identifyHead(head).map(idHash);
}

/**
 * What the copy knows of messages whose records were discarded: packed entries of the source, and pairs of hash and
 * mark of those that stand in the head. A copy that is sealed, or of which the source is, cannot compare digests.
 */
export function knownToCopy(
  state: ReadonlyMap<string, string>,
  { copy, hasLog, marks }: Pick<CopyOfState, "copy" | "hasLog"> & { readonly marks: readonly string[] },
): { readonly discarded: string; readonly known: readonly string[] } {
  if (!hasLog) {
    return { discarded: "", known: [] };
  }
  const isPlain = copy.keys?.current === undefined && (state.get("key") ?? "") === "";
  const digest = (text: string) => (isPlain ? text : anyDigest);
  const chunks = [...state].filter(([name]) => /^discarded:\d+$/.test(name));
  chunks.sort(([a], [b]) => numberIn(a) - numberIn(b));
  const entries = chunks.flatMap(([, chunk]) => entriesIn(chunk));
  const [from, to] = [idHashLength, idHashLength + digestLength];
  return {
    discarded: entries.map((text) => text.slice(0, from) + digest(text.slice(from, to)) + text.slice(to)).join(""),
    known: marks.map((text, index) => (index % 2 === 0 ? text : `${digest(text.slice(0, digestLength))}-1`)),
  };
}

function numberIn(name: string): number {
  return Number(name.slice("discarded:".length));
}

/** None where the text cannot be taken apart. */
function entriesIn(chunk: string): string[] {
  const count = chunk.length / discardedEntryLength;
  return Number.isInteger(count)
    ? Array.from({ length: count }, (_, index) =>
        chunk.slice(index * discardedEntryLength, (index + 1) * discardedEntryLength),
      )
    : [];
}
