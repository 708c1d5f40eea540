import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(__dirname, "..");
const maxColumns = 120;

/** What is not written here, or is made when the package is installed, built or tested. */
const notOurs = /^(node_modules|dist|coverage|\.git|\.cache.*)$|\.tgz$/;

/** Files that no hand wraps, each with the reason. */
const exceptions: readonly { readonly files: RegExp; readonly because: string }[] = [
  { files: /(^|\/)package-lock\.json$/, because: "npm writes it" },
  { files: /(^|\/)package\.json$/, because: "a script of npm is one line" },
  { files: /\.jsonl$/, because: "a line of recorded data is one conversation" },
  { files: /\.png$/, because: "a picture has no lines" },
  { files: /^tools\/benchmarks\/results\//, because: "the benchmarks write it" },
  { files: /^tools\/etc\/api-/, because: "the API report is written by a script" },
  { files: /^src\/store\/redis\/lua\/(later-)?scripts\.ts$/, because: "a script writes it from the .lua files" },
];

describe("the files of this repository", () => {
  it(`have no line of more than ${maxColumns} columns, but for URLs and rows of Markdown tables`, () => {
    const files = filesIn("").filter((path) => !exceptions.some(({ files }) => files.test(path)));
    expect(files.length).toBeGreaterThan(100);
    const wide = files.flatMap((path) => wideLines(path, readFileSync(join(root, path), "utf8")));
    expect(wide).toEqual([]);
  });
});

describe("the check of the width itself", () => {
  const long = "x".repeat(maxColumns + 1);

  it("finds a long line, counted in characters", () => {
    expect(wideLines("a.ts", `${"é👍".repeat(60)}\n${long}\n`)).toEqual([`a.ts:2 has ${maxColumns + 1} columns`]);
  });

  it("lets URLs pass, and rows of tables in Markdown only", () => {
    expect(wideLines("a.md", `  https://example.com/${long}\n| ${long} |`)).toEqual([]);
    expect(wideLines("a.ts", `| ${long} |`)).toHaveLength(1);
    expect(wideLines("a.md", `see https://example.com/${long}`)).toHaveLength(1);
  });
});

function wideLines(path: string, text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const columns = [...line.replaceAll(/\r$|\p{M}/gu, "")].length;
    const passes = /^\s*https?:\/\/\S+\s*$/.test(line) || (path.endsWith(".md") && /^\s*\|.*\|\s*$/.test(line));
    return columns > maxColumns && !passes ? [`${path}:${index + 1} has ${columns} columns`] : [];
  });
}

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter(({ name }) => !notOurs.test(name))
    .flatMap((entry) => {
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      return entry.isDirectory() ? filesIn(path) : entry.isFile() ? [path] : [];
    });
}
