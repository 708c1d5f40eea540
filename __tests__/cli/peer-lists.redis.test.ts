import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as core from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { jsonLines } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human } from "../support/messages.js";
import { comparable, peerConversations, peerPrefix } from "../support/peer-conversations.js";
import { sharedClient, sharedRedisUrl } from "../support/shared-redis.js";

/** A list as a package of another maker wrote it; made by `npm run check:migration`. */
interface PeerList {
  readonly peer: string;
  readonly key: string;
  readonly sessionTTL?: number;
  /** As LRANGE answers: the newest first. */
  readonly elements: readonly string[];
}

const lists = jsonLines(readFileSync(join(__dirname, "peer-lists.jsonl"), "utf8")) as unknown as PeerList[];
const peers = [...new Set(lists.map(({ peer }) => peer))];
const conversations = peerConversations(core);
const client = sharedClient();
const run = hostedCommands();

describe.each(peers)("sessions that %s wrote", (peer) => {
  const from = `peer-${process.pid}-${peers.indexOf(peer)}:`;
  const keyPrefix = `copy-${process.pid}-${peers.indexOf(peer)}`;
  const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
  const idOf = (key: string) => (key.startsWith(peerPrefix) ? key.slice(peerPrefix.length) : key);
  const migrate = async () => {
    const server = ["--url", sharedRedisUrl(), "--prefix", keyPrefix];
    const { output } = await run(["migrate", "--json", "--verify", "--pattern", `${from}*`, ...server]);
    return jsonLines(output).at(-1);
  };
  const messages = conversations.flatMap(({ messages: all }) => all).length;
  const nothing = { skipped: 0, failed: 0, different: 0 };

  beforeAll(async () => {
    for (const { key, sessionTTL, elements } of lists.filter((list) => list.peer === peer)) {
      await client.rpush(`${from}${idOf(key)}`, ...elements);
      await (sessionTTL === undefined ? undefined : client.expire(`${from}${idOf(key)}`, sessionTTL));
    }
  });

  it("are copied with all that their messages hold, and verified", async () => {
    expect(await migrate()).toMatchObject({ sessions: conversations.length, stored: messages, ...nothing });
    for (const { key, messages: written, sessionTTL } of conversations) {
      const history = memory.history(idOf(key));
      const copied = await history.getMessages();
      expect(copied.map(comparable)).toEqual(written.map(comparable));
      expect(written.every(({ id }, index) => id === undefined || copied[index]!.id === id)).toBe(true);
      expect((await history.stats()).expiresAt === undefined).toBe(sessionTTL === undefined);
    }
  });

  it("go on after the copy, and a second run adds nothing", async () => {
    for (const { key } of conversations) {
      await memory.history(idOf(key)).append([human("And then?"), ai("That was all.")], { turnId: "continued" });
    }
    expect(await migrate()).toMatchObject({ stored: 0, duplicates: messages, ...nothing });
    for (const { key, messages: written } of conversations) {
      const transcript = await memory.history(idOf(key)).getTranscript();
      expect(transcript.map(({ text }) => text)).toEqual([
        ...written.map(({ text }) => text),
        "And then?",
        "That was all.",
      ]);
    }
  });
});
