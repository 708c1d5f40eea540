import { execFile } from "node:child_process";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import type { WireKind } from "../../testing/wire/findings.js";
import { type BuiltPrograms, buildPrograms } from "../support/built-programs.js";

// Its own process, because two of the chat models cannot be loaded as CommonJS.
const source = "tools/testkit/check-providers/main.ts";
const key = "sk-of-nobody";
let programs: BuiltPrograms;
const servers: ProviderServer[] = [];

beforeAll(async () => {
  programs = await buildPrograms([source]);
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});
afterAll(() => programs.remove());

type Reply = NonNullable<Parameters<typeof startProviderServer>[0]["reply"]>;

async function start(kind: WireKind, reply: Reply): Promise<ProviderServer> {
  const server = await startProviderServer({ kind, reply });
  servers.push(server);
  return server;
}

async function check(variables: Readonly<Record<string, string>>) {
  const none = Object.fromEntries(
    ["OPENAI", "ANTHROPIC", "GOOGLE", "MISTRAL"].flatMap((name) =>
      ["API_KEY", "MODEL", "BASE_URL"].map((part) => [`${name}_${part}`, ""]),
    ),
  );
  return new Promise<{ readonly code: number; readonly rows: string[][]; readonly output: string }>((resolve) => {
    const env = { ...process.env, ...none, ...variables };
    execFile(process.execPath, [programs.pathOf(source)], { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const lines = stdout.split("\n").filter((line) => line.startsWith("|"));
      const rows = lines.slice(2).map((line) => line.split("|").slice(1, -1));
      const code = error === null ? 0 : Number(error.code);
      resolve({ code, rows: rows.map((row) => row.map((cell) => cell.trim())), output: stdout + stderr });
    });
  });
}

/** A model that thinks, calls the tool for each question, and answers. */
const reply: Reply = (body) => {
  const items = (body["contents"] ?? body["messages"] ?? body["input"]) as unknown[];
  const isResult = /"tool_result"|"function_call_output"|"role":"tool"|"functionResponse"/.test(
    JSON.stringify(items.at(-1)),
  );
  const call = { name: "lookup", arguments: { q: "Oslo" } };
  return isResult ? { thinking: "So.", content: "Mild." } : { thinking: "Hm.", content: "I look.", toolCalls: [call] };
};

it("says which variables it reads where no key is set, and ends with 2", async () => {
  const { code, output } = await check({});
  expect(code).toBe(2);
  for (const name of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "MISTRAL_BASE_URL"]) {
    expect(output).toContain(name);
  }
});

it("prints what the servers accepted, and the provider's words for what they did not, without text", async () => {
  const failure = { status: 400, message: "messages.3 is wrong: Thank you. Say good-bye." };
  const kinds = { OPENAI: "openai-responses", ANTHROPIC: "anthropic", GOOGLE: "gemini", MISTRAL: "mistral" } as const;
  const variables: Record<string, string> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    const server = await start(kind, reply);
    variables[`${name}_API_KEY`] = key;
    variables[`${name}_BASE_URL`] = `${server.url}${name === "OPENAI" ? "/v1" : ""}`;
  }
  const all = await check(variables);
  const [chat, ...others] = all.rows;
  expect(chat!.slice(0, 2)).toEqual(["openai-chat", "a conversation with tools"]);
  expect(chat![2]).toMatch(/^refused \(404\): .*Not found/);
  expect(others.filter(([, , result]) => result !== "accepted")).toEqual([]);
  const adapters = others.map(([adapter]) => adapter!);
  expect([...new Set(adapters)]).toEqual(["responses", "anthropic", "google", "google-genai", "mistral"]);
  expect(adapters.filter((adapter) => adapter === "mistral").length).toBeGreaterThan(15);
  expect(servers.flatMap(({ requests }) => requests.flatMap(({ violations }) => violations))).toEqual([]);
  const chatServer = await start("openai-chat", (body, count) => (count > 9 ? { failure } : reply(body, count)));
  const refusing = await check({ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${chatServer.url}/v1` });
  const results = refusing.rows.map(([, , result]) => result);
  expect(results.slice(0, 2)).toEqual(["accepted", "accepted"]);
  const own = refusing.rows.find(([, request]) => request === "its own answers: a name with a space")!;
  expect(own[2]).toBe("refused (400): 400 messages.3 is wrong: …");
  expect([all.code, refusing.code]).toEqual([1, 1]);
  expect(all.output + refusing.output).not.toContain(key);
});
