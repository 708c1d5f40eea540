import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";
import { atMost, digits, whole } from "../report/format.js";
import { sizeHeadline } from "../report/headlines.js";
import type { Section, Setting } from "../report/section.js";
import { names, openContenders } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";
import { memoryOf } from "../setting/session-memory.js";

/** Memory in Redis of the same messages, all keys of a session counted. */
export async function redisMemorySuite({ server, quick }: Setting): Promise<Section> {
  const contenders = openContenders(server.url);
  const client = new Redis(server.url);
  const lengths = quick ? [10, 100] : [10, 100, 1_000, 10_000, 100_000];
  const rows: string[][] = [];
  const ratios: number[] = [];
  let longest: number[] = [];
  for (const length of lengths) {
    const messages = conversation(length);
    const bytes: number[] = [];
    for (const { name, fill } of contenders) {
      const session = `${name}-${randomUUID()}`;
      await fill(session, messages);
      bytes.push((await memoryOf(client, session)) / length);
    }
    longest = bytes;
    ratios.push(bytes[0]! / bytes[1]!);
    rows.push([whole(length), ...bytes.map((each) => `${digits(each)} B`), `${digits(bytes[0]! / bytes[1]!)} ×`]);
  }
  await Promise.all([client.disconnect(), ...contenders.map((contender) => contender.close())]);
  return {
    title: "Memory in Redis",
    about:
      "MEMORY USAGE of all keys of a session over its number of messages, with ids as message providers " +
      "make them. What is more than a peer's list is the index of ids that makes writes idempotent, and " +
      "the session's state.",
    tables: [
      {
        title: "Bytes a message, by length of the history",
        head: ["messages", names.ours, names.redis, names.community, "ratio"],
        rows,
      },
    ],
    targets: lengths.map((length, index) =>
      atMost(`memory of ${whole(length)} messages, against a peer's list`, 1.1, ratios[index]!),
    ),
    headlines: [
      sizeHeadline({
        what: `memory in Redis, bytes a message (${whole(lengths.at(-1)!)} messages)`,
        ours: longest[0]!,
        others: longest.slice(1),
      }),
    ],
  };
}
