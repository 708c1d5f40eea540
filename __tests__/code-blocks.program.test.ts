import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { filesOfGuide } from "./chat-page/guide.js";
import { commentBlocks, documentBlocks, fencedBlocks, type CodeBlock } from "./support/code-blocks.js";
import { readDocument } from "./support/markdown.js";

const root = join(__dirname, "..");
/** The programs that guides name instead of showing them. */
const files: readonly CodeBlock[] = [
  ...["agent-api/server.mts", "agent-api/model.mts", "threads/server.mts"].map((path) => [
    `examples/${path}`,
    readDocument(root, `examples/${path}`),
  ]),
  ...Object.entries(filesOfGuide(root)).map(([path, code]) => [`examples/apps/nextjs-chat/${path}`, code]),
].map(([path, code]) => ({
  path: path!,
  code: code!,
  language: path!.endsWith("tsx") ? "tsx" : "ts",
  line: 1,
  marks: [],
}));
const blocks = [...documentBlocks(root), ...commentBlocks(root), ...files].filter(({ language }) =>
  /^tsx?$/.test(language),
);

/** Pages of React are checked with Preact's types, which are the same for what the guides use. */
const pages = {
  lib: ["ES2023", "ES2024.String", "ESNext.Disposable", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
  jsx: "react-jsx",
  jsxImportSource: "preact",
};
const settings = (language: string, isExact: boolean) => ({
  extends: "../../tsconfig.json",
  compilerOptions: {
    noUnusedLocals: false,
    exactOptionalPropertyTypes: isExact,
    ...(language === "tsx" && pages),
    paths: {
      "langchain-redis-memory": ["../../src/entries/index.ts"],
      "langchain-redis-memory/agent": ["../../src/entries/agent.ts"],
      "langchain-redis-memory/openai": ["../../src/entries/openai.ts"],
      "langchain-redis-memory/tool-loop": ["../../src/entries/tool-loop.ts"],
      "langchain-redis-memory/sessions": ["../../src/entries/sessions.ts"],
      "langchain-redis-memory/structure": ["../../src/entries/structure.ts"],
      "langchain-redis-memory/checkpoint": ["../../src/entries/checkpoint.ts"],
      "langchain-redis-memory/runs": ["../../src/entries/runs.ts"],
      "langchain-redis-memory/otel": ["../../src/entries/otel.ts"],
      "langchain-redis-memory/testing": ["../../testing/index.ts"],
      react: ["../../node_modules/preact/compat/src/index.d.ts"],
    },
  },
  include: ["*.mts", "*.tsx"],
});

/** What the compiler finds wrong, each line with the place in the document or comment. */
async function problemsOf(checked: readonly CodeBlock[], { isExact = false } = {}): Promise<string[]> {
  const language = checked[0]!.language;
  mkdirSync(join(root, ".cache"), { recursive: true });
  const folder = mkdtempSync(join(root, ".cache", "blocks-"));
  const extension = language === "tsx" ? "tsx" : "mts";
  checked.forEach(({ code }, index) =>
    writeFileSync(join(folder, `block-${index}.${extension}`), `${code}\nexport {};\n`),
  );
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings(language, isExact)));
  // The compiler of `npm run types`, which takes a third of the time of the one that can be imported.
  const compiler = join(root, "node_modules/@local/typescript7/bin/tsc");
  const compiled = promisify(execFile)(process.execPath, [compiler, "--noEmit", "--project", folder], { cwd: folder });
  const { stdout } = await compiled.catch(({ stdout }: { stdout: string }) => ({ stdout }));
  rmSync(folder, { recursive: true, force: true });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((problem) =>
      problem.replace(/^block-(\d+)\.\w+\((\d+),\d+\)/, (_, index: string, line: string) => {
        const block = checked[Number(index)]!;
        return `${block.path}:${block.line + Number(line) - 1}`;
      }),
    );
}

/** A block with an error, compiled with the others: what is found in it shows that errors are found. */
const wrong = fencedBlocks(
  "docs/page.md",
  "# A page\n\n```ts\nimport { RedisChatMemory } from 'langchain-redis-memory';\nmemory.close();\n```\n",
);

describe("the code blocks of documents and doc comments", () => {
  it("compile, each by itself, with the published types; one with an error is named with its place", async () => {
    expect(blocks.length).toBeGreaterThan(40);
    const [problem, ...others] = await problemsOf([...wrong, ...blocks.filter(({ language }) => language === "ts")]);
    expect(others).toEqual([]);
    expect(problem).toMatch(/^docs\/page\.md:5: error TS2304: Cannot find name 'memory'/);
  });

  it("compile in applications with exactOptionalPropertyTypes, cursors of pages and lists too", async () => {
    const inexact = fencedBlocks(
      "docs/page.md",
      "```ts\nexport const page: { before?: number } = { before: undefined };\n```\n",
    );
    const pages = blocks.filter(({ path, language }) => language === "ts" && path.endsWith(".md"));
    const found = await problemsOf([...inexact, ...pages], { isExact: true });
    // The sources themselves are compiled without the option; an application reads their declarations.
    const inBlocks = found.filter((problem) => /^(?!\.\.)\S+:\d+: error/.test(problem));
    expect(inBlocks).toEqual([expect.stringMatching(/^docs\/page\.md:2: error TS2375/)]);
    // What a class or an interface extends stands in the declarations, which an application may check as well.
    expect(found.filter((problem) => /error TS(2320|2415|2416|2420|2430):/.test(problem))).toEqual([]);
  });

  it("compile as pages of React", async () => {
    expect(await problemsOf(blocks.filter(({ language }) => language === "tsx"))).toEqual([]);
  });

  it("import what they use, in the first lines", () => {
    const without = blocks.filter(({ code }) => !/^(\/\/.*\n|"use client";\n)*\s*import /.test(code));
    expect(without.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  });
});
