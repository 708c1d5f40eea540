// Makes a release: version, changelog, API report, commit and tag. Publishing is left to the workflow that the tag
// starts.
//
// Usage: npm run release -- <major|minor|patch|x.y.z> [--dry-run]
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { refusal } from "./check-publishable.mjs";

const manifestFile = "package.json";
const lockFile = "package-lock.json";
const changelogFile = "CHANGELOG.md";
const reportFile = "tools/etc/api-report.txt";
const releasedFile = "tools/etc/api-released.txt";

const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).trim();
const read = (file) => readFileSync(file, "utf8");

try {
  main(parseArgs({ options: { "dry-run": { type: "boolean", default: false } }, allowPositionals: true }));
} catch (error) {
  console.error(error.code?.startsWith("ERR_PARSE_ARGS") ? `release: ${error.message}` : error.message);
  process.exitCode = 2;
}

function main({ values, positionals }) {
  const manifest = JSON.parse(read(manifestFile));
  const version = nextVersion(manifest.version, positionals);
  const tag = `v${version}`;
  const changelog = released(read(changelogFile), version, new Date().toISOString().slice(0, 10));
  const problems = [
    git("status", "--porcelain") === "" ? undefined : "The tree has changes that are not committed.",
    git("tag", "--list", tag) === "" ? undefined : `The tag ${tag} exists.`,
    changelog === undefined ? `${changelogFile} has nothing under "Unreleased".` : undefined,
    refusal(manifest)?.replace("Not published: set", "Set"),
    ...reportProblems(),
  ].filter((problem) => problem !== undefined);
  const dry = values["dry-run"];
  if (problems.length > 0) {
    console.error(problems.map((problem) => `Refused: ${problem}`).join("\n"));
    process.exitCode = 1;
  }
  if (dry) {
    show(manifest.version, version, changelog ?? "");
  } else if (problems.length === 0) {
    write({ manifest, version, changelog });
    git("commit", "--quiet", "--all", "--message", `Release ${version}`);
    git("tag", "--annotate", tag, "--message", `Release ${version}`);
    console.log(`Committed and tagged ${tag}. Push both: git push --follow-tags`);
  }
}

/** What the check of the API report says. */
function reportProblems() {
  const script = fileURLToPath(new URL("api-report.mjs", import.meta.url));
  const { stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
  return stderr.split("\n").filter((line) => line !== "");
}

/** @throws Error that says how to call the script, or why the version cannot follow. */
function nextVersion(current, positionals) {
  const [asked] = positionals;
  const [major, minor, patch] = current.split(".").map(Number);
  const steps = { major: [major + 1, 0, 0], minor: [major, minor + 1, 0], patch: [major, minor, patch + 1] };
  const numbers =
    steps[asked] ??
    /^(\d+)\.(\d+)\.(\d+)$/
      .exec(asked ?? "")
      ?.slice(1)
      .map(Number);
  if (numbers === undefined || positionals.length > 1) {
    throw new Error("Usage: npm run release -- <major|minor|patch|x.y.z> [--dry-run]");
  }
  const difference = numbers.map((number, index) => number - [major, minor, patch][index]).find((step) => step !== 0);
  // The first release may have the version that package.json begins with.
  const isFirst = !existsSync(releasedFile) || git("tag", "--list", "v*") === "";
  if (difference === undefined ? !isFirst : difference < 0) {
    throw new Error(`release: ${numbers.join(".")} does not follow ${current}.`);
  }
  return numbers.join(".");
}

/**
 * The changelog with what is unreleased as a section of its own, or with a date behind the version where that has a
 * section already, as the first release has; undefined where there is neither.
 */
function released(text, version, date) {
  const heading = "## Unreleased\n";
  const start = text.indexOf(heading) + heading.length;
  const next = text.indexOf("\n## ", start);
  const section = text.slice(start, next < 0 ? undefined : next);
  if (start >= heading.length && /^- /m.test(section)) {
    return `${text.slice(0, start)}\n## ${version} (${date})\n${text.slice(start)}`;
  }
  const begun = `\n## ${version}\n`;
  return text.includes(begun) ? text.replace(begun, `\n## ${version} (${date})\n`) : undefined;
}

function write({ manifest, version, changelog }) {
  const withVersion = (text, from) => text.replaceAll(`"version": "${from}"`, `"version": "${version}"`);
  writeFileSync(manifestFile, withVersion(read(manifestFile), manifest.version));
  const lock = JSON.parse(read(lockFile));
  lock.version = version;
  lock.packages[""].version = version;
  writeFileSync(lockFile, `${JSON.stringify(lock, undefined, 2)}\n`);
  writeFileSync(changelogFile, changelog);
  // From now on, changes of the public surface are those since this release.
  writeFileSync(releasedFile, read(reportFile));
}

function show(from, version, changelog) {
  const [, date] = new RegExp(`^## ${version.replaceAll(".", "\\.")} \\((.*)\\)$`, "m").exec(changelog) ?? [];
  console.log(
    [
      `Would release ${version} (package.json has ${from}):`,
      `  ${manifestFile}, ${lockFile}: version ${version}`,
      date === undefined ? undefined : `  ${changelogFile}: what is under "Unreleased" becomes "${version} (${date})"`,
      `  ${releasedFile}: becomes ${reportFile}`,
      `  git commit "Release ${version}", git tag v${version}`,
      "Nothing was changed (--dry-run).",
    ]
      .filter((line) => line !== undefined)
      .join("\n"),
  );
}
