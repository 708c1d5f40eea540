import { randomBytes } from "node:crypto";

import { createRequire } from "node:module";
import * as messages from "@langchain/core/messages";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";

import ts from "typescript";
import { ChatHistorySummarizationReducer, ChatHistoryTruncationReducer } from "langchain-redis-memory";
import type {
  Findings,
  MessagePage,
  OutlinePage,
  SessionRows,
  SessionState,
  TestCase,
  TextPiece,
  WhatIf,
} from "../../cli/inspector/model/data.js";
import { startInspector } from "../../cli/inspector/server/server.js";
import { testCaseOf } from "../../cli/inspector/server/test-case.js";
import { openServer } from "../../cli/server.js";
import { RunnableLambda } from "@langchain/core/runnables";
import { stampAnswer, walkLedger } from "../../src/entries/structure.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { addInRounds, get, inspectedPlaces, pageFolder } from "../support/inspectors.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { recordedConversations } from "../support/real-conversations.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const place = inspectedPlaces();
const closed = closedAfterEach();
const [travel] = recordedConversations();

const keys = `k:${randomBytes(32).toString("base64")}`;

describe("the inspector", () => {
  it("lists sessions by owner, and finds them by owner, title and id", async () => {
    const { ask, memory } = await place();
    const app = memory();
    await app.history("a-1", { owner: "ann", title: "Trains" }).addMessages([human("1")]);
    await app.history("b-1", { owner: "ben" }).addMessages([human("1"), ai("2")]);
    await app.history("c-1").addMessages([human("1")]);
    await app.drain();
    const found = async (search: string) => {
      const { sessions } = await ask<SessionRows>("sessions", { search });
      return sessions.map(({ sessionId }) => sessionId).sort();
    };
    expect(await found("")).toEqual(["a-1", "b-1", "c-1"]);
    expect(await found("TRAIN")).toEqual(["a-1"]);
    expect(await found("ben")).toEqual(["b-1"]);
    expect(await found("c-")).toEqual(["c-1"]);
    const { sessions } = await ask<SessionRows>("sessions", { search: "b-1" });
    expect(sessions).toEqual([expect.objectContaining({ owner: "ben", messages: 2, rounds: 1 })]);
  });

  it("says what is in front of the view, what a summary covers, and which reductions there were", async () => {
    const { ask, memory } = await place();
    const model = RunnableLambda.from(() => "They spoke.");
    const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 4, thresholdCount: 2 });
    const app = memory({ reducer });
    for (let round = 0; round < 6; round += 1) {
      const first = round === 0 ? [system("Be brief.")] : [];
      await app.history("s").addMessages([...first, human(`q${round}`), ai(`a${round}`)]);
    }
    const state = await ask<SessionState>("session", { id: "s" });
    const stored = await app.history("s").getReductions();
    expect(stored.length).toBeGreaterThan(0);
    expect(state).toMatchObject({ base: 0, next: 13, reductions: stored, reductionCount: stored.length });
    expect(state.start).toBe(stored.at(-1)!.start);
    expect(state.head.map(({ message, position }) => [message.role, position])).toEqual([
      ["system", 0],
      ["summary", undefined],
    ]);
    const [summary] = state.summaries;
    expect(summary).toEqual({ place: 1, count: summary!.last! - summary!.first! + 1, first: 1, last: state.start - 1 });
    expect(await app.history("s").getMessages()).toHaveLength(state.head.length + state.next - state.start);
  });

  it("sends Redis nothing but what reads: a user without any command that writes is enough", async () => {
    const { memory, client, keyPrefix } = await place();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 6 });
    await addInRounds(memory({ reducer }), "plain", travel!);
    await addInRounds(memory({ encryption: keysIn(keys), reducer }), "sealed", travel!);
    const allowed = ["+@read", "+@connection", "+eval", "+evalsha", "+multi", "+exec", "+time", "+info", "-@write"];
    const name = `reader-${keyPrefix}`;
    await client.call("ACL", "SETUSER", name, "reset", "on", ">pw", "~*", ...allowed);
    const env = { REDIS_USERNAME: name, REDIS_PASSWORD: "pw", LANGCHAIN_REDIS_MEMORY_KEYS: keys };
    const server = closed(await openServer({ url: sharedRedisUrl(), prefix: keyPrefix }, env));
    const inspector = closed(await startInspector({ server, pageFolder }));
    for (const id of ["plain", "sealed"]) {
      const paths = [
        "session",
        "outline",
        "messages",
        "text",
        "findings",
        "what-if",
        "export",
        "test-case",
        "gauge",
        "report",
      ];
      for (const path of [...paths, "sessions"]) {
        const query = `id=${id}&from=0&position=1&reducer=truncate:4%2B2&what=view`;
        const { status, body } = await get(`${inspector.url}api/${path}?${query}`);
        expect([id, path, status, status === 200 ? "" : body]).toEqual([id, path, 200, ""]);
      }
    }
    const log = JSON.stringify(await client.call("ACL", "LOG"));
    expect(log).not.toContain(name);
    await client.call("ACL", "DELUSER", name);
  });

  it("names the key that an encrypted session needs where it is not at hand, and shows the others", async () => {
    const { ask, add, memory, inspector } = await place();
    await memory({ encryption: keysIn(keys) })
      .history("sealed", { owner: "ann", title: "Secret" })
      .addMessages([human("secret words")]);
    await add("plain", [human("hello")]);
    const { sessions } = await ask<SessionRows>("sessions");
    expect(sessions.find(({ sessionId }) => sessionId === "sealed")).toMatchObject({ owner: "ann", locked: true });
    expect((await ask<SessionRows>("sessions", { only: "locked" })).matching).toBe(1);
    const { status, body } = await get(`${inspector.url}api/outline?id=sealed`);
    expect(status).toBe(403);
    expect(body).toContain('encrypted with the key \\"k\\", which is not in LANGCHAIN_REDIS_MEMORY_KEYS');
    expect((await ask<OutlinePage>("outline", { id: "plain" })).entries).toHaveLength(1);
  });

  it("reads all of a long session in few answers, each of a bounded size", async () => {
    const { ask, memory } = await place();
    const history = memory().history("long");
    for (let part = 0; part < 10; part += 1) {
      await history.addMessages(Array.from({ length: 500 }, (_, index) => human(`message ${part * 500 + index}`)));
    }
    const answers: OutlinePage[] = [];
    let from = 0;
    for (let next = 1; from < next;) {
      const page = await ask<OutlinePage>("outline", { id: "long", from });
      answers.push(page);
      from += page.entries.length;
      next = page.next;
    }
    expect([answers.length, from]).toEqual([3, 5_000]);
    expect(new Set(answers.map(({ edition }) => edition)).size).toBe(1);
    expect(Math.max(...answers.map((page) => JSON.stringify(page).length))).toBeLessThan(300_000);
    const { messages: some } = await ask<MessagePage>("messages", { id: "long", from: 2_500, limit: 1_000_000 });
    expect(some).toHaveLength(100);
    expect(some[0]).toMatchObject({ position: 2_500, parts: [{ kind: "text", text: "message 2500" }] });
  });

  it("shows what is left where messages were removed or replaced, and says that it changed", async () => {
    const { ask, memory } = await place();
    const history = memory().history("s");
    await history.addMessages([human("1", "m1"), ai("2", { id: "m2" }), human("3", "m3")]);
    const first = await ask<OutlinePage>("outline", { id: "s" });
    await history.addMessages([ai("4", { id: "m4" })]);
    const second = await ask<OutlinePage>("outline", { id: "s", from: 3 });
    expect([second.edition, second.entries.length]).toEqual([first.edition, 1]);
    await history.replaceFrom("m3", [human("other", "m5"), ai("answer", { id: "m6" })]);
    const third = await ask<OutlinePage>("outline", { id: "s" });
    expect(third.edition).not.toBe(first.edition);
    expect(third.entries).toHaveLength(4);
    await history.rewind("m2");
    expect((await ask<OutlinePage>("outline", { id: "s" })).entries).toHaveLength(1);
  });

  it("marks answers in front of which another system prompt or other tools stood than before", async () => {
    const { ask, add } = await place();
    const tools = [{ name: "lookup" }];
    const fronts = [{ system: "brief" }, { system: "brief" }, { system: "kind" }, { system: "kind", tools }];
    const content = [
      { type: "thinking", thinking: "hm", signature: "EqQB" },
      { type: "text", text: "Hello" },
    ];
    const answers = fronts.map((front) => stampAnswer(new AIMessage({ content }), walkLedger([], front).prefix));
    await add(
      "s",
      answers.flatMap((answer, index) => [human(`${index}`), answer, ai("no thought")]),
    );
    const { entries } = await ask<OutlinePage>("outline", { id: "s" });
    const broken = entries.flatMap(({ brokenBy }, position) => (brokenBy === undefined ? [] : [[position, brokenBy]]));
    expect(broken).toEqual([
      [7, "system"],
      [10, "tools"],
    ]);
  });

  it("gives hostile messages as plain text, long ones in pieces, and unreadable records as what they are", async () => {
    const { ask, memory, client, keyPrefix } = await place();
    const long = "0123456789".repeat(520_000);
    const texts = ["<script>alert(1)</script>", "a\u0000b", "\ud800", "\u202eevil", "שלום"];
    await memory({ redis: { limits: { maxMessageBytes: 20_000_000, maxAppendBytes: 40_000_000 } } })
      .history("s")
      .addMessages([...texts.map((text) => human(text)), human(long)]);
    await client.lset(`${keyPrefix}:{s}:log`, 4, '{"type":"odd","data":{}}');
    const { messages: shown } = await ask<MessagePage>("messages", { id: "s", from: 0 });
    const words = shown.map(({ parts }) => (parts[0] as { text: string }).text);
    expect(words.slice(0, 4)).toEqual(["<script>alert(1)</script>", "a\\u0000b", "\\ud800", "\\u202eevil"]);
    expect(shown[4]).toMatchObject({
      role: "unreadable",
      problem: expect.stringContaining("cannot be read") as string,
    });
    expect(shown[5]!.parts[0]).toMatchObject({ length: long.length, text: long.slice(0, 4_000) });
    const piece = await ask<TextPiece>("text", { id: "s", position: 5, index: 0, from: 5_150_000 });
    expect([piece.text.length, piece.end, piece.length]).toEqual([50_000, 5_200_000, 5_200_000]);
  });

  it("lays out what tools answer in JSON, and nothing else", async () => {
    const { ask, add } = await place();
    const json = '{"id":12345678901234567890}';
    await add("s", [human(json), aiCalls("c1", "c2"), tool("c1", json), tool("c2", "[not JSON]")]);
    const { messages: shown } = await ask<MessagePage>("messages", { id: "s", from: 0 });
    const laidOut = '{\n  "id": 12345678901234567890\n}';
    expect([0, 2, 3].map((index) => shown[index]!.parts[0])).toEqual([
      { kind: "text", text: json, length: json.length },
      { kind: "json", what: "JSON", text: laidOut, length: laidOut.length },
      { kind: "text", text: "[not JSON]", length: 10 },
    ]);
    expect(await ask<TextPiece>("text", { id: "s", position: 2, index: 0 })).toMatchObject({ text: laidOut });
  });

  it("shows images only where the message holds them", async () => {
    const { ask, add } = await place();
    const pixel = "data:image/png;base64,iVBORw0KGgo=";
    const blocks = [
      pixel,
      "https://example.com/a.png",
      "data:text/html;base64,PGI+",
      "data:image/svg+xml;base64,PHN2Zz4=",
    ];
    const content = blocks.map((url) => ({ type: "image_url", image_url: { url } }));
    await add("s", [new messages.HumanMessage({ content })]);
    const { messages: shown } = await ask<MessagePage>("messages", { id: "s", from: 0 });
    expect(shown[0]!.parts.map((part) => "url" in part)).toEqual([true, false, false, false]);
  });

  it("finds what a profile refuses, at the message, with what a repair would do", async () => {
    const { ask, add } = await place();
    await add("s", [human("q"), aiCalls("c1"), human("never mind")]);
    const findings = await ask<Findings>("findings", { id: "s", profile: "openai" });
    expect(findings.findings).toEqual([expect.objectContaining({ rule: "S08", position: 1, severity: "error" })]);
    expect(findings.repairs).toEqual([expect.objectContaining({ rule: "S08", action: "added" })]);
    expect(findings.profiles).toContain("mistral");
  });

  it("replays today's reductions where the session was cut", async () => {
    const { ask, memory } = await place();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 10, thresholdCount: 6 });
    await addInRounds(memory({ reducer }), "s", travel!);
    const stored = await memory().history("s").getReductions();
    const { today, candidate } = await ask<WhatIf>("what-if", { id: "s", reducer: "none" });
    // Reductions behind the last request changed no request.
    expect(today.reductions).toBeGreaterThanOrEqual(stored.length - 1);
    expect(today.sent).toBeLessThan(candidate.sent);
    expect(candidate.reductions).toBe(0);
  });

  it("writes messages as code that makes equal messages", async () => {
    const { ask, memory } = await place();
    await addInRounds(memory(), "s", [...travel!, human('</script> `${x}` \\ "\u2028')]);
    const { code, messages: count } = await ask<TestCase>("test-case", { id: "s", what: "transcript" });
    const transcript = await memory().history("s").getTranscript();
    expect(count).toBe(transcript.length);
    expect(evaluated(code).map((message) => message.toDict())).toEqual(transcript.map((message) => message.toDict()));
    expect(evaluated(testCaseOf([]).code)).toEqual([]);
  });

  it("orders the list by the last write, in both directions, and by length", async () => {
    const { ask, add, client } = await place();
    const millisecond = async () => Math.floor(Number((await client.time()).join(".")) * 1_000);
    for (const [id, count] of Object.entries({ first: 2, second: 3, third: 1 })) {
      await add(
        id,
        Array.from({ length: count }, (_, index) => human(String(index))),
      );
      const written = await millisecond();
      while ((await millisecond()) === written) {
        // The next session is written later.
      }
    }
    const idsIn = async (order: string) =>
      (await ask<SessionRows>("sessions", { order })).sessions.map(({ sessionId }) => sessionId);
    expect(await idsIn("newest")).toEqual(["third", "second", "first"]);
    expect(await idsIn("oldest")).toEqual(["first", "second", "third"]);
    expect(await idsIn("longest")).toEqual(["second", "first", "third"]);
    expect(await idsIn("")).toEqual(await idsIn("newest"));
  });

  it("shows recordings and files as what they are, and plays only what the message holds", async () => {
    const { ask, add } = await place();
    const content = [
      { type: "audio", mimeType: "audio/wav", data: "UklGRg==" },
      { type: "input_audio", input_audio: { format: "mp3", data: "SUQz" } },
      { type: "file", mimeType: "application/pdf", data: "JVBERi0=", metadata: { filename: "contract.pdf" } },
      { type: "file", file: { file_id: "file-7" } },
      { type: "audio", mimeType: 'audio/wav"><script>', data: "UklGRg==" },
      { type: "video", mimeType: "video/mp4", url: "https://films.example/a.mp4" },
      { type: "image", mimeType: "image/png", data: "iVBORw==" },
    ];
    await add("s", [new HumanMessage({ content: content as never })]);
    const { messages } = await ask<MessagePage>("messages", { id: "s", from: 0 });
    expect(messages[0]!.parts).toEqual([
      { kind: "media", what: "audio", text: "audio/wav, 4 bytes", url: "data:audio/wav;base64,UklGRg==" },
      { kind: "media", what: "audio", text: "audio/mpeg, 3 bytes", url: "data:audio/mpeg;base64,SUQz" },
      { kind: "media", what: "file", text: "contract.pdf, application/pdf, 5 bytes" },
      { kind: "media", what: "file", text: "the provider's file file-7" },
      { kind: "media", what: "audio", text: 'audio/wav"><script>, 4 bytes' },
      { kind: "media", what: "video", text: "video/mp4, https://films.example/a.mp4, not loaded" },
      { kind: "media", what: "image", text: "image/png, 4 bytes", url: "data:image/png;base64,iVBORw==" },
    ]);
  });

  it("marks a session that Redis lost a part of, and says what helps", async () => {
    const { ask, add, client, keyPrefix } = await place();
    await add("s", [human("1"), ai("2"), human("3")]);
    await add("whole", [human("1")]);
    await client.lpop(`${keyPrefix}:{s}:log`);
    expect((await ask<SessionRows>("sessions", { only: "damaged" })).sessions).toEqual([
      expect.objectContaining({ sessionId: "s", damaged: true, messages: 2 }),
    ]);
    const idsOf = async (only: string) =>
      (await ask<SessionRows>("sessions", { only })).sessions.map(({ sessionId }) => sessionId).sort();
    expect([await idsOf(""), await idsOf("locked")]).toEqual([["s", "whole"], []]);
    expect((await ask<SessionState>("session", { id: "s" })).damage).toBe(
      "1 of 3 messages are gone; run rebuild to use what is left",
    );
    await client.unlink(`${keyPrefix}:{s}:log`);
    expect((await ask<SessionState>("session", { id: "s" })).damage).toContain("rebuild cannot bring them back");
  });
});

function keysIn(text: string) {
  const [id, base64] = text.split(":") as [string, string];
  return { current: { id, key: Buffer.from(base64, "base64") } };
}

/** The messages that the code makes. */
function evaluated(code: string): BaseMessage[] {
  const { outputText } = ts.transpileModule(code, { compilerOptions: { module: ts.ModuleKind.CommonJS } });
  const exported: { messages?: BaseMessage[] } = {};
  new Function("exports", "require", outputText)(exported, createRequire(__filename));
  return exported.messages!;
}
