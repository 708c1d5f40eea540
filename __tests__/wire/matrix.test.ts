import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { LeakReport } from "../../tools/testkit/wire-matrix/leaks.js";
import type { ReplayReport } from "../../tools/testkit/wire-matrix/replays.js";
import { type BuiltPrograms, buildPrograms } from "../support/built-programs.js";
import { drawnPart } from "./drawn-part.js";

// Its own process, because two of the chat models cannot be loaded as CommonJS.
const source = "tools/testkit/wire-matrix/main.ts";
const listed = join(__dirname, "failing-cells.json");
let programs: BuiltPrograms;
const drawn = drawnPart();
let report: Report;

interface Report {
  /** Cells as `arm/source > target/operation`. */
  readonly played: readonly string[];
  /** Those of them that fail, with the cause. */
  readonly failing: readonly string[];
  readonly kept: string;
  readonly replays: ReplayReport;
  readonly media: unknown;
  readonly leaks: LeakReport;
  /** Profiles of the models that `initChatModel` makes, by provider. */
  readonly universal: Readonly<Record<string, string>>;
}

beforeAll(async () => {
  programs = await buildPrograms([source]);
  const run = promisify(execFile);
  const options = ["--report", ...drawn.options];
  const { stdout } = await run(process.execPath, [programs.pathOf(source), ...options], { maxBuffer: 2 ** 26 });
  report = JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as typeof report;
});
afterAll(() => programs.remove());

it(`fails in no cell of the matrix but in those that are listed, and in each of these (${drawn.name})`, () => {
  // After a change for the better: `npm run check:wire -- --json` prints the new list. It may only become shorter.
  const played = new Set(report.played);
  const expected = listedCells().filter(({ cell }) => played.has(cell));
  expect([...report.failing].sort()).toEqual(expected.map(({ cell, cause }) => `${cell}: ${cause}`).sort());
});

/** The list, which is by arm, cause, and `source > target`. */
function listedCells(): { readonly cell: string; readonly cause: string }[] {
  const arms = JSON.parse(readFileSync(listed, "utf8")) as Record<string, Record<string, Record<string, string[]>>>;
  return Object.entries(arms).flatMap(([arm, causes]) =>
    Object.entries(causes).flatMap(([cause, pairs]) =>
      Object.entries(pairs).flatMap(([pair, operations]) =>
        operations.map((operation) => ({ cell: `${arm}/${pair}/${operation}`, cause })),
      ),
    ),
  );
}

it("sends the parts of answers that the table of docs/providers.md names", () => {
  const rows = (text: string) => text.split("\n").filter((line) => line.startsWith("|"));
  const cells = (row: string) => row.split("|").map((cell) => cell.trim().replace(/^-+$/, "---"));
  const page = readFileSync(join(__dirname, "../../docs/providers.md"), "utf8");
  const documented = page.slice(page.indexOf("| answers of"), page.indexOf("## The profile `auto`"));
  // After a change: `npm run check:wire -- --kept` prints the new table.
  expect(rows(documented).map(cells)).toEqual(rows(report.kept).map(cells));
});

/** Untouched answers that an adapter cannot send back itself, or whose thoughts it sends so that they are refused. */
const mended: Readonly<Record<string, readonly [seeds: readonly number[], reason: string]>> = {
  "responses-v1": [[1, 2, 3], "another body"], // ChatOpenAI leaves out the ids of the items
  "anthropic-v1": [[1, 2, 3], "another body"], // ChatAnthropic sends streamed thoughts with the signature "undefined"
  google: [[2, 3], "another body"], // ChatGoogle sends pictures that it made itself with a key that the API refuses
  "google-v1": [[1, 2, 3], "another body"], // ChatGoogle sends each call twice
  "google-genai": [[1, 2], "Error: Unknown content type inlineData"], // pictures that it made itself
};

it("sends untouched answers to their own provider byte for byte, and loses no text and no call", () => {
  const { mended: changed, equal, lost: losses } = report.replays;
  const named = Object.entries(mended).flatMap(([name, [seeds, reason]]) =>
    seeds.map((seed) => [`${name} ${seed}`, reason] as const),
  );
  expect(changed).toEqual(Object.fromEntries(named));
  expect(equal).toBe(36 - named.length);
  // ChatMistralAI 1.2 does not send the text beside calls; a streamed one may come in two blocks.
  for (const [cell, lost] of Object.entries(losses)) {
    expect([cell, lost.filter((text) => !["I look.", "I lo", "ok."].includes(text))]).toEqual([
      expect.stringMatching(/ > mistral$/),
      [],
    ]);
  }
});

it("leaves no part of what redact takes out of an answer in stores, exports, events, traces and requests", () => {
  expect(report.leaks).toEqual({ leaks: [], refused: [], unproven: [] });
});

it("knows the model that initChatModel makes of each installed provider", () => {
  expect(report.universal).toEqual({
    openai: "openai-chat",
    anthropic: "anthropic",
    google: "google",
    "google-genai": "google-genai",
    mistralai: "mistral",
    bedrock: "bedrock",
    deepseek: "deepseek",
  });
});

it("names the lowest adapters in docs/providers.md with the versions that CI installs", () => {
  const [page, sets] = ["docs/providers.md", "tools/scripts/peer-sets.mjs"].map((path) =>
    readFileSync(join(__dirname, "../..", path), "utf8"),
  );
  const [, listed] = /lowestAdapters = \{([^}]*)\}/.exec(sets!)!;
  const installed = [...listed!.matchAll(/"(.+)": "(.+)"/g)].map(([, name, version]) => `${name} ${version}`);
  const named = [...page!.matchAll(/@langchain\/[\w-]+ \d[\d.]*\d/g)].map(([text]) => text);
  expect(named.sort()).toEqual(installed.sort());
});

it("sends the user's pictures, audio and files in each form once, or a note for what an adapter cannot send", () => {
  const notes = {
    link: ["bedrock"],
    audio: ["responses", "responses-zdr", "anthropic", "mistral", "bedrock"],
    file: ["mistral"],
    video: ["openai-chat", "responses", "responses-zdr", "anthropic", "mistral", "deepseek"],
    "linked video": ["openai-chat", "responses", "responses-zdr", "anthropic", "mistral", "bedrock", "deepseek"],
    "linked file": ["openai-chat", "mistral", "bedrock", "deepseek"],
  };
  const left = (kind: string) => `(${kind === "link" ? "image" : kind.replace("linked ", "")} left out)`;
  const cells = Object.entries(notes).flatMap(([kind, names]) =>
    names.map((name) => [`${kind} > ${name}`, [left(kind)]] as const),
  );
  // ChatBedrockConverse takes a video as LangChain's standard content only.
  expect(report.media).toEqual({ ...Object.fromEntries(cells), "video > bedrock": [left("video"), "sent"] });
});
