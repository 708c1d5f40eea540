import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const scripts = join(__dirname, "../../tools/scripts");
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

const address = "https://git.invalid/own";
const manifest = {
  ...{ name: "small", version: "1.2.3", type: "module", author: "A", homepage: address, repository: address },
  ...{ bugs: address, funding: address },
  exports: { ".": { import: { types: "./dist/esm/src/entries/index.d.ts", default: "./dist/esm/index.js" } } },
};
const changelog = "# Changes\n\n## Unreleased\n\n- `first` is new.\n\n## 1.2.3 (2026-01-01)\n\n- Begun.\n";
const source = "/** First. */\nexport function first(a: string): string {\n  return a;\n}\n";

/** A small package in a repository of its own, with an API report. */
function smallPackage() {
  const folder = mkdtempSync(join(tmpdir(), "release-"));
  folders.push(folder);
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  const read = (file: string) => readFileSync(join(folder, file), "utf8");
  const setManifest = (changes: object) => write("package.json", JSON.stringify({ ...manifest, ...changes }, null, 2));
  const git = (...args: string[]) => {
    const user = ["-c", "user.name=Test", "-c", "user.email=test@test.invalid"];
    return execFileSync("git", [...user, ...args], { cwd: folder, encoding: "utf8" });
  };
  const commit = () => {
    git("add", "--all");
    git("commit", "--quiet", "--message", "change");
  };
  const run = (script: string, ...args: string[]) => {
    const names = { GIT_AUTHOR_NAME: "Test", GIT_COMMITTER_NAME: "Test" };
    const emails = { GIT_AUTHOR_EMAIL: "t@t.invalid", GIT_COMMITTER_EMAIL: "t@t.invalid" };
    const env = { ...process.env, ...names, ...emails };
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(scripts, script), ...args], {
      ...{ cwd: folder, encoding: "utf8", env },
    });
    return { status, stdout, stderr };
  };
  if (folders.length > 1) {
    // The first one, as it was made: the report takes its time.
    cpSync(`${folders[0]}-made`, folder, { recursive: true });
    return { write, read, setManifest, git, commit, run };
  }
  setManifest({});
  write("package-lock.json", JSON.stringify({ version: "1.2.3", packages: { "": { version: "1.2.3" } } }));
  write("CHANGELOG.md", changelog);
  write("src/entries/index.ts", source);
  mkdirSync(join(folder, "tools/etc"), { recursive: true });
  run("api-report.mjs");
  write("tools/etc/api-released.txt", read("tools/etc/api-report.txt"));
  git("init", "--quiet");
  commit();
  folders.push(`${folder}-made`);
  cpSync(folder, `${folder}-made`, { recursive: true });
  return { write, read, setManifest, git, commit, run };
}

describe("the check before npm publish", () => {
  it("refuses a package without addresses, and says in one sentence what to set", () => {
    const { setManifest, run } = smallPackage();
    expect(run("check-publishable.mjs")).toEqual({ status: 0, stdout: "", stderr: "" });
    setManifest({ homepage: undefined, bugs: "" });
    expect(run("check-publishable.mjs")).toEqual({
      ...{ status: 1, stdout: "" },
      stderr: "Not published: set homepage, bugs in package.json first.\n",
    });
  });

  it("runs before this package is published, which shows no address that leads nowhere", () => {
    const own = JSON.parse(readFileSync("package.json", "utf8")) as Record<string, object>;
    expect(own["scripts"]).toMatchObject({ prepublishOnly: "node tools/scripts/check-publishable.mjs" });
    expect(JSON.stringify(own)).not.toContain(".invalid");
  });
});

describe("the release script", () => {
  it("says what it would do with --dry-run, and changes nothing", () => {
    const { run, git } = smallPackage();
    const { status, stdout, stderr } = run("release.mjs", "minor", "--dry-run");
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^Would release 1\.3\.0 \(package\.json has 1\.2\.3\):\n/);
    expect(stdout).toMatch(/"Unreleased" becomes "1\.3\.0 \(\d{4}-\d\d-\d\d\)"/);
    expect([git("status", "--porcelain"), git("tag")]).toEqual(["", ""]);
  });

  it("sets the version, dates the changelog, begins a new comparison of the API, commits and tags", () => {
    const { run, git, read } = smallPackage();
    expect(run("release.mjs", "2.0.0")).toMatchObject({ status: 0, stderr: "" });
    expect(JSON.parse(read("package.json"))).toEqual({ ...manifest, version: "2.0.0" });
    expect(JSON.parse(read("package-lock.json"))).toEqual({ version: "2.0.0", packages: { "": { version: "2.0.0" } } });
    expect(read("CHANGELOG.md")).toMatch(/^## Unreleased\n\n## 2\.0\.0 \(\d{4}-\d\d-\d\d\)\n\n- `first` is new\.$/m);
    expect([git("status", "--porcelain"), git("tag")]).toEqual(["", "v2.0.0\n"]);
    expect(git("log", "-1", "--format=%s")).toBe("Release 2.0.0\n");
  });

  it("dates the section of a first release that stands in the changelog already", () => {
    const { run, read, write, commit } = smallPackage();
    write("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n## 1.2.3\n\n- All of it.\n");
    commit();
    expect(run("release.mjs", "1.2.3")).toMatchObject({ status: 0, stderr: "" });
    expect(read("CHANGELOG.md")).toMatch(/^## Unreleased\n\n## 1\.2\.3 \(\d{4}-\d\d-\d\d\)\n\n- All of it\.$/m);
  });

  it("refuses a dirty tree, a changelog without an entry, no author, and a version that does not follow", () => {
    const { run, write, setManifest, git } = smallPackage();
    write("CHANGELOG.md", "# Changes\n\n## Unreleased\n\n## 1.2.3 (2026-01-01)\n\n- Begun.\n");
    setManifest({ author: undefined });
    const { status, stderr } = run("release.mjs", "patch");
    expect([status, stderr.split("\n").filter((line) => line !== "")]).toEqual([
      1,
      [
        "Refused: The tree has changes that are not committed.",
        'Refused: CHANGELOG.md has nothing under "Unreleased".',
        expect.stringMatching(/^Refused: Set author in package\.json/),
      ],
    ]);
    expect(git("tag")).toBe("");
    for (const version of ["1.2.2", "later", ""]) {
      expect(run("release.mjs", version)).toMatchObject({ status: 2, stdout: "" });
    }
  });
});

describe("the API report", () => {
  it("is out of date after a change of the public surface, and not after one of a comment or a body", () => {
    const { run, write } = smallPackage();
    write("src/entries/index.ts", source.replace("First.", "The first.").replace("return a", 'return a + ""'));
    expect(run("api-report.mjs", "--check")).toMatchObject({ status: 0, stderr: "" });
    write("src/entries/index.ts", source.replace("a: string", "a?: string"));
    const { status, stderr } = run("api-report.mjs", "--check");
    expect([status, stderr]).toEqual([1, expect.stringContaining("tools/etc/api-report.txt is not up to date")]);
  });

  it("wants a line in the changelog for each name that was added, changed or removed", () => {
    const { run, write } = smallPackage();
    write(
      "src/entries/index.ts",
      "export interface SecondOptions {\n  readonly a: string;\n}\nexport const third: number = 3;\n",
    );
    expect(run("api-report.mjs").stderr.split("\n").slice(0, 2)).toEqual([
      'SecondOptions differs from the last release: name it in CHANGELOG.md under "Unreleased".',
      'third differs from the last release: name it in CHANGELOG.md under "Unreleased".',
    ]);
    write("CHANGELOG.md", changelog.replace("is new.", "is now `third`, with options for `Second`."));
    expect(run("api-report.mjs", "--check")).toMatchObject({ status: 0, stderr: "" });
  });
});
