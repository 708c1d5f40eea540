// Sessions that the other packages wrote, with their own classes, moved by the command line: copied, verified, read
// message by message, continued, and copied again. Ends with 1 on any difference. --write-fixtures keeps what the
// packages wrote for __tests__/cli/peer-lists.redis.test.ts.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { RedisChatMessageHistory as CommunityHistory } from "@langchain/community/stores/message/ioredis";
import * as core from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory as RedisPackageHistory } from "@langchain/redis";
import { Redis } from "ioredis";
import { RedisChatMessageHistory } from "langchain-redis-memory";
import {
  comparable,
  peerConversations,
  peerPrefix,
  type PeerConversation,
} from "../../__tests__/support/peer-conversations.js";
import { startRedis } from "../testkit/servers/redis-server.js";

/** A history of another package. */
interface PeerHistory {
  getMessages(): Promise<BaseMessage[]>;
  addMessage(message: BaseMessage): Promise<void>;
}

/** A package that keeps histories in Redis. */
interface Peer {
  readonly name: string;
  history(sessionId: string, sessionTTL: number | undefined): PeerHistory;
  close(): Promise<unknown>;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const command = here("node_modules/langchain-redis-memory/dist/cli/main.js");
const fixtures = here("../../__tests__/cli/peer-lists.jsonl");
/** Several pages of a list, and of a copy. */
const long = 1_250;

const problems: string[] = [];
const written: string[] = [];

for (const open of [openRedisPackage, openCommunity]) {
  const server = await startRedis();
  const client = new Redis(server.url);
  const peer = open(server.url);
  try {
    await check(peer, server.url, client);
  } finally {
    await peer.close();
    await client.quit();
    await server.stop();
  }
}
if (parseArgs({ options: { "write-fixtures": { type: "boolean" } } }).values["write-fixtures"]) {
  writeFileSync(fixtures, `${written.join("\n")}\n`);
}
console.log(problems.length === 0 ? "No difference." : `${problems.join("\n")}\n${problems.length} differences.`);
// The last connection of @langchain/redis may still be closing.
process.exit(problems.length === 0 ? 0 : 1);

async function check(peer: Peer, url: string, client: Redis): Promise<void> {
  const conversations = [...peerConversations(core as never), longConversation()];
  for (const { key, sessionTTL, messages } of conversations) {
    const history = peer.history(key, sessionTTL);
    for (const message of messages) {
      await history.addMessage(message as never);
    }
    if (messages.length < long) {
      const elements = await client.lrange(key, 0, -1);
      written.push(JSON.stringify({ peer: peer.name, key, sessionTTL, elements }));
    }
  }
  const total = conversations.reduce((sum, { messages }) => sum + messages.length, 0);
  expect(peer, "the first run", migrate(url), { messages: total, stored: total });
  let peerDiffers = 0;
  for (const conversation of conversations) {
    peerDiffers += differences(conversation, await ownReading(peer, conversation)).length;
    await checkCopy(peer, url, client, conversation);
  }
  expect(peer, "the second run", migrate(url), { messages: total, stored: 0, duplicates: total });
  console.log(
    `${peer.name}: ${conversations.length} sessions, ${total} messages migrated, verified and continued. ` +
      `${peer.name} itself reads ${peerDiffers} of them otherwise than they were written.`,
  );
}

/** Both patterns that a user would name; returns the sums of both reports. */
function migrate(url: string): Record<string, number> {
  const runs = [`${peerPrefix}*`, "chat *"].map((pattern) => {
    const strip = pattern.startsWith("chat") ? ["--strip", "none"] : [];
    const args = [command, "migrate", "--json", "--verify", "--url", url, "--pattern", pattern, ...strip];
    const output = execFileSync(process.execPath, args, { encoding: "utf8" });
    return JSON.parse(output.trim().split("\n").at(-1)!) as Record<string, number>;
  });
  return Object.fromEntries(
    ["messages", "stored", "duplicates", "skipped", "failed", "different"].map((name) => [
      name,
      runs.reduce((sum, run) => sum + run[name]!, 0),
    ]),
  );
}

function expect({ name }: Peer, what: string, found: Record<string, number>, wanted: Record<string, number>): void {
  for (const [field, count] of Object.entries({ duplicates: 0, skipped: 0, failed: 0, different: 0, ...wanted })) {
    if (found[field] !== count) {
      problems.push(`${name}: ${what} reports ${found[field]} ${field}, not ${count}.`);
    }
  }
}

async function checkCopy(peer: Peer, url: string, client: Redis, conversation: PeerConversation): Promise<void> {
  const { key, sessionTTL, messages } = conversation;
  const place = `${peer.name}: ${key}`;
  const sessionId = key.startsWith(peerPrefix) ? key.slice(peerPrefix.length) : key;
  const history = new RedisChatMessageHistory({ sessionId, client });
  problems.push(...differences(conversation, await history.getMessages()).map((text) => `${place}: ${text}`));
  const { expiresAt } = await history.stats();
  const left = expiresAt === undefined ? undefined : (expiresAt - Date.now()) / 1_000;
  if (left === undefined ? sessionTTL !== undefined : !(left <= sessionTTL! + 2 && left > sessionTTL! / 2)) {
    problems.push(`${place}: the copy expires in ${left} seconds, the list in ${sessionTTL}.`);
  }
  const turn = [new core.HumanMessage("And then?"), new core.AIMessage("That was all.")];
  await history.append(turn, { turnId: "continued" });
  // A retried turn brings other ids, and is not stored again.
  await history.append([new core.HumanMessage("And then?"), new core.AIMessage("All.")], { turnId: "continued" });
  const continued = { ...conversation, messages: [...messages, ...turn] };
  const after = await new RedisChatMessageHistory({ sessionId, url }).getTranscript();
  problems.push(...differences(continued, after).map((text) => `${place}, continued: ${text}`));
}

/** The messages as the package that wrote them reads them. */
async function ownReading(peer: Peer, { key, sessionTTL }: PeerConversation): Promise<BaseMessage[]> {
  return peer.history(key, sessionTTL).getMessages();
}

function differences({ messages }: PeerConversation, found: readonly BaseMessage[]): string[] {
  const wrong = messages.flatMap((message, index) => {
    const other = found[index];
    const isSame =
      other !== undefined &&
      isDeepStrictEqual(comparable(other), comparable(message)) &&
      (message.id === undefined || other.id === message.id);
    return isSame ? [] : [`message ${index} (${message.getType()}) differs`];
  });
  return found.length === messages.length ? wrong : [...wrong, `${found.length} messages, not ${messages.length}`];
}

function longConversation(): PeerConversation {
  const messages = Array.from({ length: long }, (_, index) =>
    index % 2 === 0 ? new core.HumanMessage(`question ${index}`) : new core.AIMessage(`answer ${index}`),
  );
  return { key: `${peerPrefix}long`, messages: messages as never };
}

function openRedisPackage(url: string): Peer {
  const config = { url };
  const history = (sessionId: string, sessionTTL: number | undefined) =>
    new RedisPackageHistory({ sessionId, config, ...(sessionTTL && { sessionTTL }) });
  return { name: named("@langchain/redis"), history, close: () => history("last", undefined).client.disconnect() };
}

function openCommunity(url: string): Peer {
  const client = new Redis(url);
  // The package names ioredis 5 as its peer and works with 6.
  const history = (sessionId: string, sessionTTL: number | undefined) =>
    new CommunityHistory({ sessionId, client: client as never, ...(sessionTTL && { sessionTTL }) });
  return { name: named("@langchain/community"), history, close: () => client.quit() };
}

function named(peer: string): string {
  const manifest = JSON.parse(readFileSync(here(`node_modules/${peer}/package.json`), "utf8")) as { version: string };
  return `${peer} ${manifest.version}`;
}
