import { digestMessage } from "../../../src/store/codec/encode-message.js";
import { summaryMarkOf, stringIn } from "../../../src/conversation/messages/message.js";
import type { StoredStats } from "../../../src/store/contract/session-data.js";
import type { TokenCounter } from "../../../src/conversation/tokens/counted-messages.js";
import { describeSession } from "../../all-sessions.js";
import { damageOf, remainsOf } from "../../damage.js";
import type { Server } from "../../server.js";
import type { HeadRow, SessionState, SummaryRow } from "../model/data.js";
import { readLog, type LogItem } from "./log-reader.js";
import { readableText } from "./readable-text.js";
import { NotFoundError } from "./request-problem.js";
import { readFront } from "./session-front.js";
import type { SessionOutlines } from "./session-outlines.js";
import { showMessage } from "./shown-message.js";

/** The sources of a snapshot. */
export interface SnapshotSource {
  readonly server: Server;
  readonly outlines: SessionOutlines;
  readonly counter: TokenCounter;
}

/**
 * An open session, without its messages: a few small reads, and one of the view where a reducer put something in front
 * of it.
 *
 * @throws NotFoundError; EncryptionError.
 */
export async function readSnapshot(source: SnapshotSource, sessionId: string): Promise<SessionState> {
  const { server, outlines } = source;
  const [stats, details] = await Promise.all([
    server.store.data.readStats({ id: sessionId }),
    describeSession(server, sessionId),
  ]);
  if (stats === undefined) {
    throw new NotFoundError("There is no session with this id. Check --prefix.");
  }
  const { edition, page } = await outlines.edition(sessionId);
  const { base, start, next } = page;
  const { head, summaries } = await readHead(source, sessionId, stats.viewMessages - (next - start));
  const { owner, label } = details ?? {};
  const remains = stats.damaged ? await remainsOf(server, sessionId) : undefined;
  return {
    sessionId,
    ...(owner !== undefined && { owner: readableText(owner) }),
    ...(label?.title !== undefined && { title: readableText(label.title) }),
    edition,
    base,
    start,
    next,
    rounds: stats.rounds,
    head,
    summaries,
    reductions: stats.reductions,
    reductionCount: stats.reduced,
    ...(remains && { damage: damageOf(remains).sentence }),
    ...timesOf(stats),
  };
}

function timesOf({ createdAt, updatedAt, expiresAt }: StoredStats) {
  return {
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

interface Head {
  readonly head: readonly HeadRow[];
  readonly summaries: readonly SummaryRow[];
}

async function readHead(source: SnapshotSource, sessionId: string, count: number): Promise<Head> {
  if (count <= 0) {
    return { head: [], summaries: [] };
  }
  const { items } = await readFront(source.server, sessionId);
  const marks = items.map(({ message }) => message && summaryMarkOf(message));
  const wanted = [
    ...items.map(({ message }) => message?.id),
    ...marks.flatMap((mark) => [stringIn(mark?.firstId), stringIn(mark?.lastId)]),
  ];
  const positions = await positionsOf(source.server, sessionId, wanted);
  const place = (id: unknown) => positions.get(String(id));
  const originals = await readOriginals(source.server, sessionId, [...positions.values()]);
  const head = items.map(async (item): Promise<HeadRow> => {
    const position = item.message?.id === undefined ? undefined : place(item.message.id);
    const original = position === undefined ? undefined : originals.get(position);
    const changed = original !== undefined && isOther(original, item);
    const message = await showMessage(item, { position: undefined, counter: source.counter });
    return { message, ...(position !== undefined && { position }), ...(changed && { changed }) };
  });
  const summaries = marks.flatMap((mark, index) => {
    if (mark === undefined) {
      return [];
    }
    const [first, last] = [place(mark.firstId), place(mark.lastId)];
    const range = { ...(first !== undefined && { first }), ...(last !== undefined && { last }) };
    return [{ place: index, ...(Number.isFinite(mark.count) && { count: mark.count }), ...range }];
  });
  return { head: await Promise.all(head), summaries };
}

async function positionsOf(
  { store }: Server,
  sessionId: string,
  wanted: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, number>> {
  const ids = [...new Set(wanted.filter((id) => id !== undefined))];
  if (ids.length === 0) {
    return new Map();
  }
  const { positions = [] } = await store.readView({ id: sessionId }, { ids });
  return new Map(ids.flatMap((id, index) => (positions[index] === undefined ? [] : [[id, positions[index]]])));
}

/** Positions that lie closer to each other than this are read together. */
const nearby = 20;

/** The records at these positions. */
async function readOriginals(
  server: Server,
  sessionId: string,
  positions: readonly number[],
): Promise<ReadonlyMap<number, LogItem>> {
  const wanted = [...new Set(positions)].sort((a, b) => a - b);
  const originals = new Map<number, LogItem>();
  for (let index = 0; index < wanted.length;) {
    let end = index + 1;
    while (end < wanted.length && wanted[end]! - wanted[end - 1]! <= nearby) {
      end += 1;
    }
    const range = { from: wanted[index]!, to: wanted[end - 1]! + 1 };
    for await (const { items } of readLog(server, sessionId, range)) {
      items.forEach((item) => originals.set(item.position, item));
    }
    index = end;
  }
  return originals;
}

function isOther(original: LogItem, copy: LogItem): boolean {
  if (original.message === undefined || copy.message === undefined) {
    return original.message !== copy.message;
  }
  return digestMessage(original.message) !== digestMessage(copy.message);
}
