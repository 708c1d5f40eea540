import { HumanMessage } from "@langchain/core/messages";
import { commandEntries } from "../../cli/command-entries.js";
import { MemoryError } from "../../src/base/errors.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { commandPlaces } from "../support/command-places.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { get, inspectedPlaces } from "../support/inspectors.js";
import { ai } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

// One corpus of what an attacker writes, against every command, the routes of the inspector, and the library.

const { client, place, file } = commandPlaces("corpus");
const inspected = inspectedPlaces();
const run = hostedCommands();

const osc = "\u001b]52;c;cHduZWQ=\u0007";
const texts: readonly string[] = [
  ...[osc, "\u001b[2J", "\u009b2J", "\u0000", "a\r\nb", "\u202egnp.exe", "\u2066x\u2069", "\u2028", "\u{e0041}"],
  ...["__proto__", "constructor", "hasOwnProperty", "..", "%2e%2e/%00", "*", "[", "{}", "}:log", "--all", "-x", "$1"],
  ...["</script><img src=x onerror=alert(1)>", "javascript:alert(1)", "~AAAAAAAA ".padEnd(60, "A"), "x".repeat(512)],
];
/** What no key of Redis can be named by. */
const unnamable = ["", "\ud800", "x\udfff", "x".repeat(513), "x".repeat(1_000_000)];
const urls = [
  ...["redis://:sesame@127.0.0.1:1", "redis://u:sesame@%zz", "redis://:sesame@[::1", "rediss://:sesame#x@127.0.0.1:1"],
  ...["http://:sesame@127.0.0.1", "redis+sentinel://:sesame@127.0.0.1:1/m", `redis://:sesame@${osc}`],
  "javascript:sesame",
];
/** What a terminal obeys, and what nobody sees; joiners are parts of emoji. */
const obeyed = /(?![\n\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const terminal = { columns: 80, env: { NO_COLOR: "1" } };

/** Runs a command; what follows `--` is all operands. */
function on(keyPrefix: string, name: string, args: readonly string[], isInterrupted = false) {
  return run([name, "--url", sharedRedisUrl(), "--prefix", keyPrefix, ...args], { ...terminal, isInterrupted });
}

/** Records of a session of which each text is a part. */
function recordsWith(text: string): string[] {
  const said = JSON.stringify(text);
  const data = `{"content":${said},"id":"m","name":${said},"additional_kwargs":{${said}:{"__proto__":{"polluted":1}}}}`;
  return [
    text,
    `{"type":"human","data":${data},"meta":{"v":1}}`,
    `{"type":${said},"data":${data},"meta":{"v":1}}`,
    `{"type":"ai","data":{"id":${said}},"sealed":${said},"meta":{"v":2}}\nabc`,
    `{"type":"ai","data":{"content":${"[".repeat(5_000)}${"]".repeat(5_000)},"id":"d"},"meta":{"v":1}}`,
  ];
}

/** The command lines of each command, for one text wherever it takes a text. */
function commandLines(text: string): Readonly<Record<string, readonly (readonly string[])[]>> {
  const session = { type: "session", sessionId: text, owner: text, title: text, metadata: { [text]: text } };
  const exported = file(`${JSON.stringify(session)}\n${text}\n`);
  return {
    sessions: [[], [`--owner=${text}`], [`--match=${text}`]],
    threads: [[`--match=${text}`]],
    show: [["--content", "--", text]],
    stats: [[]],
    search: [["--content", "--", text], [`--title=${text}`], [`--metadata=${text}`]],
    check: [["--all"], ["--", text], [`--thread=${text}`]],
    doctor: [[`--nonsense=${text}`]],
    rebuild: [["--dry-run", "--", text]],
    delete: [
      ["--dry-run", "--", text],
      ["--dry-run", `--owner=${text}`],
    ],
    prune: [["--dry-run", `--thread=${text}`, "--keep=1"]],
    reindex: [[]],
    reencrypt: [[]],
    export: [["--", text], [`--owner=${text}`], ["--all", `--format=${text}`]],
    import: [[exported], ["--format=openai", exported], ["--", text]],
    migrate: [
      ["--dry-run", `--pattern=${text}`],
      ["--dry-run", `--file=${exported}`],
    ],
    simulate: [
      ["--", text],
      [`--reducer=${text}`, `--file=${exported}`],
    ],
    // These two end by an interruption.
    watch: [["--content", "--", text]],
    inspect: [[`--price=${text}`]],
  };
}

const untouched = () => expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();

it("names each command", () => {
  expect(Object.keys(commandLines("x")).sort()).toEqual(commandEntries.map(({ name }) => name).sort());
});

describe.each(texts.map((text) => [JSON.stringify(text).slice(0, 40), text] as const))("the text %s", (_, text) => {
  it("is stored and read as it is, or refused by a typed error, at every place that takes a name", async () => {
    const { memory } = place();
    const calls: readonly (() => Promise<unknown>)[] = [
      async () => {
        const history = memory.history(text, { owner: text, title: text, metadata: { [text]: text } });
        await history.append([new HumanMessage({ id: text, name: text, content: text })], { turnId: text });
        expect(await history.getMessages()).toMatchObject([{ id: text, name: text, content: text }]);
        await memory.drain();
        const listed = await memory.sessions.list({ owner: text });
        expect(listed.sessions).toMatchObject([{ sessionId: text, metadata: { [text]: text } }]);
      },
      () => memory.history("s", { title: text }).addUserMessage("x"),
      () => memory.sessions.search({ text }),
      () => memory.history(text).rewind(text),
      () => memory.history(text).getPage({ around: text }),
      () => memory.history(text, { owner: "mallory" }).getMessages(),
    ];
    for (const call of calls) {
      const failure = await (async () => call())().then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure !== undefined) {
        expect(MemoryError.isInstance(failure) ? "typed" : failure).toBe("typed");
        expect((failure as Error).message).not.toMatch(obeyed);
        expect((failure as Error).message.length).toBeLessThan(1_000);
      }
    }
    untouched();
  });

  it("never reaches a terminal, and ends no command without a word", async () => {
    const { keyPrefix, memory } = place();
    await memory
      .history(text, { owner: text, metadata: { [text]: text } })
      .addMessages([new HumanMessage(text), ai(text)]);
    await memory.drain();
    await client.rpush(sessionKeys(keyPrefix, text).log, ...recordsWith(text));
    await client.hset(sessionKeys(keyPrefix, text).state, "title", text);
    for (const [name, lines] of Object.entries(commandLines(text))) {
      for (const args of lines) {
        const isInterrupted = name === "watch" || name === "inspect";
        const { exitCode, output, errors } = await on(keyPrefix, name, args, isInterrupted);
        const shown = `${output}${errors}`;
        expect([name, args, shown]).not.toEqual([name, args, expect.stringMatching(obeyed)]);
        expect([name, args, shown]).not.toEqual([name, args, expect.stringMatching(/^ {4}at /m)]);
        expect([0, 1, 2, 4, 5, 130]).toContain(exitCode);
        expect(exitCode === 0 || exitCode === 130 || shown).not.toBe("");
      }
    }
    untouched();
  });
});

it.each(unnamable.map((text) => [JSON.stringify(text).slice(0, 40), text] as const))(
  "an id of %s is refused by every command that takes one, and by the library",
  async (_, text) => {
    const { keyPrefix, memory } = place();
    await expect((async () => memory.history(text).getMessages())()).rejects.toMatchObject({
      name: "ConfigurationError",
    });
    for (const name of text.length > 10_000 ? [] : ["show", "check", "rebuild", "export", "simulate", "delete"]) {
      const args = [...(name === "delete" ? ["--dry-run"] : []), "--", text];
      const { exitCode, output, errors } = await on(keyPrefix, name, args);
      expect([name, [1, 2].includes(exitCode), `${output}${errors}`.length < 2_000]).toEqual([name, true, true]);
      expect(`${output}${errors}`).not.toMatch(obeyed);
    }
  },
);

it.each(urls)("a URL %j is refused without its password", async (url) => {
  const { exitCode, output, errors } = await run(["sessions", "--url", url], terminal);
  expect([2, 3]).toContain(exitCode);
  expect(`${output}${errors}`).not.toMatch(/sesame/);
  expect(`${output}${errors}`).not.toMatch(obeyed);
});

/** What the inspector answers with JSON; a file, where it is not the answer of a route. */
const routes = [
  ...["sessions", "session", "report", "outline", "messages", "text", "findings", "find", "search", "gauge", "threads"],
  ...["thread", "what-if", "test-case", "export", "report.txt"],
];

it("the inspector answers each text by a status and a sentence, or by what was asked for", async () => {
  const { keyPrefix, memory, inspector } = await inspected();
  for (const text of texts) {
    await memory()
      .history(text, { owner: text, title: "title" })
      .addMessages([new HumanMessage(text)]);
    await client.rpush(sessionKeys(keyPrefix, text).log, ...recordsWith(text));
    const named = { id: text, text, search: text, reducer: text, profile: text, only: text, order: text };
    const query = new URLSearchParams({ ...named, from: "0", position: "0" }).toString();
    for (const path of routes) {
      const { status, headers, body } = await get(`${inspector.url}api/${path}?${query}`);
      expect([path, text, [200, 400, 404].includes(status)]).toEqual([path, text, true]);
      expect(headers["content-disposition"] ?? "").not.toMatch(obeyed);
      if (headers["content-disposition"] === undefined) {
        expect([path, text, JSON.parse(body)]).toEqual([path, text, expect.any(Object)]);
      }
    }
    const { body } = await get(`${inspector.url}api/messages?${query}`);
    const { messages } = JSON.parse(body) as { readonly messages: readonly unknown[] };
    expect(messages[0]).toMatchObject({ role: "human", position: 0 });
  }
  untouched();
});
