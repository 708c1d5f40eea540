import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const root = join(__dirname, "../..");
const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A repository with the hook of this one, switched on as `npm run hooks` does it. */
function repository() {
  const folder = mkdtempSync(join(tmpdir(), "hooks-"));
  folders.push(folder);
  const git = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd: folder, encoding: "utf8" });
    expect([status, stderr.includes("fatal")]).toEqual([0, false]);
    return { stdout, stderr };
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { hooks: string } };
  git("init", "--quiet");
  git("config", "user.name", "Test");
  git("config", "user.email", "test@test.invalid");
  execFileSync(scripts.hooks, { cwd: folder, shell: true });
  cpSync(join(root, ".githooks"), join(folder, ".githooks"), { recursive: true });
  const script = JSON.stringify(join(root, "tools/scripts/format-staged.mjs"));
  write("tools/scripts/format-staged.mjs", `await import(${script});\n`);
  write(".prettierignore", ".githooks/\nscripts/\nignored/\n");
  return { git, write, read };
}

describe("the hook before a commit", () => {
  it("commits what is staged formatted, and formats the work tree's file where all of it is staged", () => {
    const { git, write, read } = repository();
    write("a/b.ts", "export const a   = 1\n");
    write("ignored/c.ts", "export const c   = 1\n");
    git("add", "a/b.ts", "ignored/c.ts");
    git("commit", "--quiet", "--message", "first");
    expect(git("show", "HEAD:a/b.ts").stdout).toBe("export const a = 1;\n");
    expect(git("show", "HEAD:ignored/c.ts").stdout).toBe("export const c   = 1\n");
    expect(read("a/b.ts")).toBe("export const a = 1;\n");
    expect(git("status", "--porcelain", "--untracked-files=no").stdout).toBe("");
  });

  it("leaves what is not staged as it is, and commits what Prettier cannot read", () => {
    const { git, write, read } = repository();
    write("a.ts", "export const a   = 1\n");
    write("broken.ts", "export const = ;\n");
    git("add", "a.ts", "broken.ts");
    write("a.ts", "export const a   = 1\nexport const  later = 2\n");
    const { stderr } = git("commit", "--quiet", "--message", "first");
    expect(stderr).toContain("broken.ts is committed as it is: ");
    expect(git("show", "HEAD:a.ts").stdout).toBe("export const a = 1;\n");
    expect(read("a.ts")).toBe("export const a   = 1\nexport const  later = 2\n");
    expect(git("show", "HEAD:broken.ts").stdout).toBe("export const = ;\n");
  });
});
