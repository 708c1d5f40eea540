import type { CopiedRecord, ForkRequest } from "../store/session-forks.js";
import { digestLength } from "../redis/stored-fields.js";
import { idHash } from "../redis/keys.js";
import { markFrom } from "./turn-marks.js";

/** A part of the log of a session that is copied. */
export interface SourcePage {
  readonly epoch: string;
  readonly cut: string;
  readonly base: number;
  readonly next: number;
  /** Names of the keys that the session needs. */
  readonly key: string;
  /** `""` for a session without an owner. */
  readonly owner: string;
  /** Position of the first record. */
  readonly from: number;
  readonly records: readonly string[];
  /** The record before them, where the copy should have that one; undefined for the first page. */
  readonly before?: string | undefined;
}

/** A turn of a page: its records on it, and their number when the turn is done, else 0. */
export interface StagedTurn {
  readonly name: string;
  readonly count: number;
  /** Position of its first record. */
  readonly first: number;
  readonly done: number;
}

/** The arguments of the script that adds a page to a copy; `marksOf` reads the marks of turns from the source. */
export async function forkPageArguments(
  { from, records, before, owner }: SourcePage,
  { base, ttl, copyRecord, marksOf }: PageCopy,
): Promise<string[]> {
  const copied = records.map((source, index) => copyRecord(source, from + index));
  const turns = new Map<string, { count: number; first: number }>();
  copied.forEach(({ identity }, index) => {
    const name = identity?.turn?.name;
    if (name !== undefined) {
      const turn = turns.get(name);
      turns.set(name, { count: (turn?.count ?? 0) + 1, first: turn?.first ?? from + index });
    }
  });
  const names = [...turns.keys()];
  const marks = names.length === 0 ? [] : await marksOf(names);
  const marked = names.map((name, index) => {
    const mark = markFrom(marks[index]);
    return { name, ...turns.get(name)!, done: mark?.done ? mark.count : 0 };
  });
  const known = before === undefined ? undefined : identityOf(copyRecord(before, from - 1), from - 1);
  return stagedPage(copied, { from, base, ttl, owner, turns: marked, before: known });
}

/** The same of records that are at hand; `from` is the position of the first. */
export function stagedPage(records: readonly CopiedRecord[], page: StagedPage): string[] {
  const { from, base, ttl, owner, turns, before } = page;
  const identities = records.flatMap((record, index) => identityOf(record, from + index));
  const marks = turns.flatMap(({ name, count, first, done }) => [name, String(count), String(first), String(done)]);
  const request = { from, base, count: records.length, turns: turns.length, ttl, owner, before };
  return [JSON.stringify(request), ...identities, ...marks, ...records.map(({ record }) => record)];
}

/** The hash of a record's id, another one to take where that is known already, and the value of both in `ids`. */
function identityOf({ identity }: CopiedRecord, position: number): [string, string, string] {
  const unknown = idHash(`\u0000unreadable\u0000${position}`);
  const hash = identity === undefined ? unknown : idHash(identity.id);
  return [hash, unknown, (identity?.digest ?? "-".repeat(digestLength)) + String(position)];
}

/** Where a page belongs, and whose it is. */
interface StagedPage extends Pick<PageCopy, "base" | "ttl">, Pick<SourcePage, "from" | "owner"> {
  readonly turns: readonly StagedTurn[];
  /** What the copy's index of ids should say of the record before the page. @default not compared */
  readonly before?: readonly string[] | undefined;
}

interface PageCopy {
  readonly base: number;
  /** Milliseconds for which the copy is kept. */
  readonly ttl: number;
  readonly copyRecord: ForkRequest["copyRecord"];
  marksOf(names: readonly string[]): Promise<readonly string[]>;
}
