import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { coerceMessageLikeToMessage, type BaseMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { RedisChatMemory, type RedisChatMessageHistory } from "langchain-redis-memory";
import { interleave, type Runner } from "../measure/interleave.js";
import { atMost, comparisonTable, digits, whole } from "../report/format.js";
import type { Case, Section, Setting, Table, Target } from "../report/section.js";
import { names, openContender, sessionTTL } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";
import { memoryOf } from "../setting/session-memory.js";

const recordings = new URL("../../../examples/data/recorded-conversations.jsonl", import.meta.url);
const lengths = [10, 100, 1_000];
const lengthOfRead = 20;
const appendsPerSession = 50;

/** What `encryption` costs: time of an append and of a read, and memory in Redis. */
export async function encryptionSuite({ server, quick }: Setting): Promise<Section> {
  const client = new Redis(server.url);
  const encryption = { current: { id: "2026-11", key: randomBytes(32) } };
  const plain = new RedisChatMemory({ client, sessionTTL });
  const sealed = new RedisChatMemory({ client, sessionTTL, encryption });
  const memories: Memories = { [names.ours]: plain, "with encryption": sealed };
  const cases = [await appends(memories, quick ? 40 : 1_600), await reads(memories, quick ? 40 : 1_600)];
  const memory = await memoryTable(server.url, client, { plain, sealed });
  client.disconnect();
  return {
    title: "Encryption",
    about:
      "The same sessions with and without the option `encryption`, with a time to live. Memory is MEMORY USAGE of " +
      "all keys of a session over its number of messages, written two at a time, beside the list of " +
      "@langchain/redis; once with a `turnId` for every two messages. Recorded: the conversations of examples/data, " +
      "one after the other, without their system prompts; made: agents' messages of 400 bytes with usage and metadata.",
    tables: [comparisonTable("Append of 2, and read of 20", cases), memory.table],
    targets: memory.targets,
  };
}

type Memories = Readonly<Record<string, RedisChatMemory>>;

async function appends(memories: Memories, rounds: number): Promise<Case> {
  const run = randomUUID();
  const runners = Object.entries(memories).map(([name, memory]): Runner<never> => ({
    name,
    prepare: (round) =>
      ({
        history: memory.history(`${run}-${name}-${Math.floor(round / appendsPerSession)}`),
        messages: conversation(2, round * 2),
      }) as never,
    run: ({ history, messages }: { history: RedisChatMessageHistory; messages: BaseMessage[] }) =>
      history.addMessages(messages),
  }));
  return { name: "append of 2", measured: await interleave(runners, { rounds, warmup: rounds / 8 }) };
}

async function reads(memories: Memories, rounds: number): Promise<Case> {
  const run = randomUUID();
  const runners = await Promise.all(
    Object.entries(memories).map(async ([name, memory]): Promise<Runner<never>> => {
      const history = memory.history(`${run}-${name}`);
      await history.addMessages(conversation(lengthOfRead));
      return { name, prepare: () => undefined as never, run: () => history.getMessages() };
    }),
  );
  return { name: `read of ${lengthOfRead}`, measured: await interleave(runners, { rounds, warmup: rounds / 8 }) };
}

async function memoryTable(
  url: string,
  client: Redis,
  { plain, sealed }: { readonly plain: RedisChatMemory; readonly sealed: RedisChatMemory },
): Promise<{ table: Table; targets: Target[] }> {
  const peer = openContender(names.redis, url);
  const rows: string[][] = [];
  const targets: Target[] = [];
  for (const [kind, make] of [["recorded", recorded] as const, ["made", conversation] as const]) {
    for (const length of lengths) {
      const messages = make(length);
      const session = randomUUID();
      await peer.fill(session, messages);
      const list = await memoryOf(client, session);
      const ratio = async (memory: RedisChatMemory, named: boolean) =>
        (await memoryOf(client, await fill(memory, messages, named))) / list;
      const ratios = [await ratio(plain, false), await ratio(plain, true)];
      ratios.push(await ratio(sealed, false), await ratio(sealed, true));
      rows.push([
        `${kind}, ${whole(length)}`,
        `${digits(list / length)} B`,
        ...ratios.map((each) => `${digits(each)} ×`),
      ]);
      const what = `of ${whole(length)} messages (${kind}), against a peer's list`;
      targets.push(
        atMost(`memory with a turnId for every two ${what}`, 1.25, ratios[1]!),
        atMost(`memory with encryption ${what}`, 1.4, ratios[2]!),
        atMost(`memory with encryption and a turnId for every two ${what}`, 1.4, ratios[3]!),
      );
    }
  }
  await peer.close();
  const head = ["messages", names.redis, names.ours, "with turnId", "with encryption", "with both"];
  return { table: { title: "Memory in Redis: bytes a message of a peer, and times as much", head, rows }, targets };
}

/** Writes messages two at a time into a new session, and returns its id. */
async function fill(memory: RedisChatMemory, messages: readonly BaseMessage[], named: boolean): Promise<string> {
  const session = randomUUID();
  const history = memory.history(session);
  for (let first = 0; first < messages.length; first += 2) {
    await history.append(messages.slice(first, first + 2), named ? { turnId: randomUUID() } : {});
  }
  return session;
}

/** So many messages of the recorded conversations, with ids as providers make them. */
function recorded(count: number): BaseMessage[] {
  const all = readFileSync(recordings, "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => (JSON.parse(line) as { messages: { role: string; content?: string }[] }).messages)
    .filter(({ role }) => role !== "system");
  return Array.from({ length: count }, (_, index) => {
    const message = all[index % all.length]!;
    return coerceMessageLikeToMessage({ ...message, content: message.content ?? "", id: randomUUID() } as never);
  });
}
