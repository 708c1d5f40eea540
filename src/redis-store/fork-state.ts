import { anyDigest } from "../store/discarded-ids.js";
import { randomToken } from "../store/random-token.js";
import { isCopiedField, namesAnew, type ForkRequest } from "../store/session-forks.js";
import { digestLength, idHash, idHashLength } from "../redis/id-hash.js";
import { discardedEntryLength } from "../redis/stored-fields.js";

interface CopyOfState {
  readonly request: ForkRequest;
  readonly base: number;
  readonly next: number;
  /** False for a copy that begins in front of the first record. */
  readonly hasLog: boolean;
  /** Packed names of turns without records. */
  readonly turns: string;
}

/** Fields of the new session's `state` besides its numbers: the view's where it is in the copy, and what it keeps. */
export function fieldsOfCopy(state: ReadonlyMap<string, string>, copy: CopyOfState): string[] {
  const { request } = copy;
  const { fields = {}, copyField = (_, text) => text } = request;
  const own = namesAnew(request) ? { label: randomToken(), ...fields } : fields;
  const kept = [...state].filter(([name]) => isCopiedField(name) && !Object.hasOwn(own, name));
  const key = request.key === undefined ? [] : [["key", request.key]];
  const pairs = [...key, ...kept.map(([name, text]) => [name, copyField(name, text)]), ...Object.entries(own)];
  if (copy.hasLog) {
    const start = Number(state.get("start") ?? 0);
    const isWhole = start > copy.next;
    pairs.push(["start", String(isWhole ? copy.base : start)]);
    const head = isWhole ? "" : (state.get("head") ?? "");
    const count = ["headCount", state.get("headCount") ?? "0"];
    pairs.push(...(head === "" ? [] : [["head", copyField("head", head)], count]));
    pairs.push(...(copy.turns === "" ? [] : [["turns", copy.turns]]));
  }
  return pairs.flat();
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
  { request, hasLog, marks }: Pick<CopyOfState, "request" | "hasLog"> & { readonly marks: readonly string[] },
): { readonly discarded: string; readonly known: readonly string[] } {
  if (!hasLog) {
    return { discarded: "", known: [] };
  }
  const isPlain = request.key === undefined && (state.get("key") ?? "") === "";
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
