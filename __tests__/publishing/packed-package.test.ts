import { execFileSync } from "node:child_process";
import { join, posix } from "node:path";
import { readFileSync } from "node:fs";
import { linksOf, readDocument } from "../support/markdown.js";

const root = join(__dirname, "../..");
const [{ files }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: root, encoding: "utf8" }),
) as [{ files: readonly { readonly path: string }[] }];
const packed = new Set(files.map(({ path }) => path));
const isPacked = (file: string) => packed.has(file) || [...packed].some((path) => path.startsWith(`${file}/`));
const documents = [...packed].filter((path) => path.endsWith(".md")).sort();

/** Files that a document shows as pictures, by Markdown or by HTML. */
function picturesOf(path: string): string[] {
  const text = readDocument(root, path);
  const sources = [...text.matchAll(/\b(?:src|srcset)="([^"]+)"/g)].map(([, source]) => source!);
  return sources.map((source) => posix.join(posix.dirname(path), source));
}

describe("the documents of an installed package", () => {
  it("are the README and all that it leads to", () => {
    expect(documents).toEqual(expect.arrayContaining(["README.md", "CHANGELOG.md", "docs/chat-page.md"]));
    expect(documents.length).toBeGreaterThan(20);
  });

  it("are no pages of this package's own development", () => {
    const guides = /^(README|CHANGELOG|SECURITY)\.md$|^docs\/[\w-]+\.md$|^examples\//;
    expect(documents.filter((path) => !guides.test(path))).toEqual([]);
  });

  it.each(documents)("%s links only to what is installed with it", (path) => {
    const links = linksOf(path, readDocument(root, path));
    const missing = links.filter(({ file }) => !isPacked(file));
    expect(missing.map(({ line, target }) => `${path}:${line} ${target}`)).toEqual([]);
    expect(picturesOf(path).filter((file) => !isPacked(file))).toEqual([]);
  });

  it("come without source maps", () => {
    expect([...packed].filter((path) => path.endsWith(".map"))).toEqual([]);
  });
});

const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>;
};

/** The packages that an installation of these brings with it. */
function closure(names: readonly string[]): string[] {
  const found = new Set(names);
  for (const name of found) {
    Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {}).forEach((needed) => found.add(needed));
  }
  return [...found].sort();
}

describe("an installation of this package", () => {
  it("brings no package that its peers do not bring", () => {
    const own = closure(Object.keys(packages[""]!.dependencies!));
    expect(own).toEqual(["base64-js", "js-tiktoken", "zod"]);
    const peers = closure(["@langchain/core", "ioredis"]);
    expect(own.filter((name) => !peers.includes(name))).toEqual([]);
  });
});
