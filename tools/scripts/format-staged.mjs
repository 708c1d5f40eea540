// Formats the staged files with Prettier, as they are staged. A file of which all is staged changes in the work tree
// too; of one that is staged in part, the rest stays as it is. What Prettier cannot read is left to `npm run lint`.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format, getFileInfo, resolveConfig } from "prettier";

const git = (args, input) => execFileSync("git", args, { encoding: "utf8", input, maxBuffer: 1e9 });
const root = git(["rev-parse", "--show-toplevel"]).trim();
const names = git(["diff", "--cached", "--name-only", "-z", "--diff-filter=ACMR"]).split("\0").filter(Boolean);
for (const name of names) {
  await formatStaged(name);
}

async function formatStaged(name) {
  const path = join(root, name);
  const { ignored, inferredParser } = await getFileInfo(path, { ignorePath: join(root, ".prettierignore") });
  const [mode] = git(["ls-files", "--stage", "--", `:/${name}`]).split(" ");
  if (ignored || inferredParser === null || !mode.startsWith("100")) {
    return;
  }
  const staged = git(["cat-file", "blob", `:${name}`]);
  let formatted;
  try {
    formatted = await format(staged, { ...(await resolveConfig(path)), filepath: path });
  } catch (error) {
    console.error(`${name} is committed as it is: ${String(error.message).split("\n")[0]}`);
    return;
  }
  if (formatted === staged) {
    return;
  }
  const blob = git(["hash-object", "-w", "--stdin"], formatted).trim();
  git(["update-index", "--cacheinfo", `${mode},${blob},${name}`]);
  if (readFileSync(path, "utf8") === staged) {
    writeFileSync(path, formatted);
  }
  console.error(`formatted ${name}`);
}
