import { RedisChatMemory } from "langchain-redis-memory";
import { validateConversation } from "langchain-redis-memory/structure";
import type { RedisClient } from "../../src/store/redis/connection.js";
import type { Journal, JournalEntry } from "./busy-writers.js";

/** What a comparison of a journal with the stored sessions found; each list names turns or sessions. */
export interface Comparison {
  readonly acknowledged: number;
  /** Acknowledged turns of which a message is missing. */
  readonly lost: readonly string[];
  /** Messages that are stored more than once. */
  readonly doubled: readonly string[];
  /** Turns that are stored in part, out of order, or with others' messages between theirs. */
  readonly torn: readonly string[];
  /** Turns that stand before one that the same writer was told of earlier. */
  readonly reordered: readonly string[];
  /** Messages that nobody wrote. */
  readonly unknown: readonly string[];
  /** Messages that a writer had been told of, and that its next read of the transcript did not show. */
  readonly unseen: readonly string[];
  /** Sessions whose view is no conversation, lacks the newest message, or shows what the transcript does not. */
  readonly invalidViews: readonly string[];
  /** Turns that were stored and of which a late resend stored something. */
  readonly resent: readonly string[];
}

/** What {@link compare} finds where nothing is lost. */
export const nothingBroken: Omit<Comparison, "acknowledged"> = {
  lost: [],
  doubled: [],
  torn: [],
  reordered: [],
  unknown: [],
  unseen: [],
  invalidViews: [],
  resent: [],
};

/** What it finds where Redis may lose what it acknowledged: nothing else. */
export const nothingElseBroken: object = { ...nothingBroken, lost: expect.any(Array), unseen: expect.any(Array) };

/** Compares what writers were told with what a client that took no part in it reads now. */
export async function compare(journal: Journal, client: RedisClient): Promise<Comparison> {
  const memory = new RedisChatMemory({ client, redis: { keyPrefix: journal.keyPrefix } });
  const found = await Promise.all(journal.sessions.map((session) => compareSession(journal, session, memory)));
  const all = (name: keyof SessionComparison) => found.flatMap((part) => part[name]);
  const acknowledged = journal.entries.filter((entry) => entry.acknowledged).length;
  return {
    acknowledged,
    lost: all("lost"),
    doubled: all("doubled"),
    torn: all("torn"),
    reordered: all("reordered"),
    unknown: all("unknown"),
    unseen: journal.unseen,
    invalidViews: all("invalidViews"),
    resent: all("resent"),
  };
}

type SessionComparison = Record<Exclude<keyof typeof nothingBroken, "unseen">, string[]>;

async function compareSession(
  { entries }: Journal,
  session: string,
  memory: RedisChatMemory,
): Promise<SessionComparison> {
  const transcript = (await memory.history(session).getTranscript()).map(({ text }) => text);
  const places = new Map(transcript.map((text, place) => [text, place]));
  const turns = entries.filter((entry) => entry.session === session);
  const written = new Set(turns.flatMap(({ texts }) => texts));
  const stored = turns.filter(({ texts }) => texts.some((text) => places.has(text)));
  const whole = stored.filter(({ texts }) =>
    texts.every((text, index) => places.get(text) === places.get(texts[0]!)! + index),
  );
  return {
    lost: named(turns.filter(({ acknowledged, texts }) => acknowledged && !texts.every((text) => places.has(text)))),
    doubled: transcript.filter((text, place) => places.get(text) !== place),
    torn: named(stored.filter((turn) => !whole.includes(turn))),
    reordered: named(outOfOrder(whole, places)),
    unknown: transcript.filter((text) => !written.has(text)),
    invalidViews: await viewIssues(session, transcript, memory),
    resent: await resend(whole, session, memory),
  };
}

function outOfOrder(turns: readonly JournalEntry[], places: ReadonlyMap<string, number>): JournalEntry[] {
  return turns.filter(({ writer, turn, texts }) =>
    turns.some(
      (other) => other.writer === writer && other.turn < turn && places.get(other.texts[0]!)! > places.get(texts[0]!)!,
    ),
  );
}

async function viewIssues(session: string, transcript: readonly string[], memory: RedisChatMemory): Promise<string[]> {
  const view = await memory.history(session).getMessages();
  const texts = view.map(({ text }) => text);
  const first = transcript.indexOf(texts[0] ?? "");
  const issues = validateConversation(view).filter(({ severity }) => severity === "error");
  return [
    ...issues.map(({ rule, index }) => `${session}: ${rule} at ${index}`),
    ...(texts.at(-1) === transcript.at(-1) ? [] : [`${session}: the newest message is missing`]),
    ...(first >= 0 || view.length === 0 ? [] : [`${session}: the first message is unknown`]),
    ...(texts.every((text) => transcript.includes(text)) ? [] : [`${session}: a message is unknown`]),
  ];
}

/** Sends the newest stored turns once more, in reverse, and names those that were stored again. */
async function resend(turns: readonly JournalEntry[], session: string, memory: RedisChatMemory): Promise<string[]> {
  const again: JournalEntry[] = [];
  for (const turn of turns.slice(-10).reverse()) {
    const { appended } = await turn.send(memory);
    if (appended > 0) {
      again.push(turn);
    }
  }
  return named(again).map((name) => `${session} ${name}`);
}

function named(turns: readonly JournalEntry[]): string[] {
  return turns.map(({ texts }) => texts[0]!);
}
