import type { ForkRequest } from "../session-forks.js";
import { digestLength, idHash } from "./id-hash.js";
import { markFrom } from "./turn-marks.js";

/** A part of the log of a session that is copied. */
export interface SourcePage {
  readonly epoch: string;
  readonly cut: string;
  readonly base: number;
  readonly next: number;
  readonly damaged: boolean;
  /** Names of the keys that the session needs. */
  readonly key: string;
  /** `""` for a session without an owner. */
  readonly owner: string;
  /** Position of the first record. */
  readonly from: number;
  readonly records: readonly string[];
}

/** The arguments of the script that adds a page to a copy; `marksOf` reads the marks of turns from the source. */
export async function forkPageArguments(
  { from, records, owner }: SourcePage,
  { base, ttl, copyRecord, marksOf }: PageCopy,
): Promise<string[]> {
  const [identities, texts]: [string[], string[]] = [[], []];
  const turns = new Map<string, { count: number; first: number }>();
  records.forEach((source, index) => {
    const position = from + index;
    const { record, identity } = copyRecord(source, position);
    const unknown = idHash(`\u0000unreadable\u0000${position}`);
    const hash = identity === undefined ? unknown : idHash(identity.id);
    identities.push(hash, unknown, (identity?.digest ?? "-".repeat(digestLength)) + String(position));
    texts.push(record);
    const name = identity?.turn?.name;
    if (name !== undefined) {
      const turn = turns.get(name);
      turns.set(name, { count: (turn?.count ?? 0) + 1, first: turn?.first ?? position });
    }
  });
  const names = [...turns.keys()];
  const marks = names.length === 0 ? [] : await marksOf(names);
  const marked = names.flatMap((name, index) => {
    const mark = markFrom(marks[index]);
    const { count, first } = turns.get(name)!;
    return [name, String(count), String(first), String(mark?.done ? mark.count : 0)];
  });
  const request = { from, base, count: texts.length, turns: names.length, ttl, owner };
  return [JSON.stringify(request), ...identities, ...marked, ...texts];
}

interface PageCopy {
  readonly base: number;
  /** Milliseconds for which the copy is kept. */
  readonly ttl: number;
  readonly copyRecord: ForkRequest["copyRecord"];
  marksOf(names: readonly string[]): Promise<readonly (string | null)[]>;
}
