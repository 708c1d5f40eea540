// Types, lint, format and the nearest unit tests of what differs from main, in less than 40 seconds; with --watch again
// after each save. `npm run check` is the whole.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, watch } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, ".cache");
/** A file at the bottom is imported by nearly all tests; those that name it themselves come first. */
const maxTestFiles = 20;
/** Tests of many inputs run only where they name what changed, those of long conversations only if they changed. */
const propertyTest = /\/property\/|\.property\.test\.ts$/;
const longTest = /(?:long|recorded)-conversations\.test\.ts$/;
const roomsWithCode = ["src", "cli", "testing", "__tests__", "examples", "tools"];

await checkAll();
if (process.argv.includes("--watch")) {
  watchForever();
}

async function checkAll() {
  const begun = performance.now();
  const changed = changedFiles();
  if (changed.length === 0) {
    console.log("Nothing differs from main.");
    return;
  }
  const code = changed.filter((path) => /\.(ts|tsx|mjs|cjs)$/.test(path) && !path.startsWith("tools/benchmarks/"));
  await output("tsx", ["tools/scripts/build-lua.mjs"]);
  const results = await Promise.all([
    code.length > 0 &&
      step("types", "tsc", ["--noEmit", "--incremental", "--tsBuildInfoFile", join(cache, "types.json")]),
    code.some((path) => path.startsWith("cli/inspector/")) &&
      step("types of the inspector's page", "tsc", ["--noEmit", "--project", "cli/inspector/page"]),
    code.length > 0 && step("lint", "eslint", ["--cache", "--cache-location", join(cache, "lint.json"), ...code]),
    step("format", "prettier", ["--check", "--ignore-unknown", ...changed]),
    testsOf(code),
  ]);
  const failed = results.includes("failed");
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`${failed ? "FAILED" : "ok"}: ${changed.length} files that differ from main, ${seconds} s`);
  process.exitCode = failed ? 1 : 0;
}

/** What differs from main's last common commit, committed or not, and new files. */
function changedFiles() {
  const lines = (...args) =>
    git(...args)
      .split("\n")
      .filter(Boolean);
  const main = ["main", "origin/main"].find(
    (name) => lines("branch", "--all", "--list", name, `remotes/${name}`).length > 0,
  );
  const base = main === undefined ? "HEAD" : git("merge-base", "HEAD", main).trim();
  const paths = [
    ...lines("diff", "--name-only", "--diff-filter=d", base),
    ...lines("ls-files", "--others", "--exclude-standard"),
  ];
  return [...new Set(paths)].filter((path) => existsSync(join(root, path)));
}

async function testsOf(code) {
  if (code.length === 0) {
    return "ok";
  }
  const select = ["--selectProjects", "unit"];
  const listed = await output("jest", [...select, "--listTests", "--findRelatedTests", ...code]);
  const tests = listed.split("\n").filter((line) => line.startsWith("/"));
  const names = code.map((path) => basename(path).replace(/\.\w+$/, ""));
  const distance = (path) => {
    if (code.some((changed) => path.endsWith(`/${changed}`))) {
      return 0;
    }
    const text = readFileSync(path, "utf8");
    return names.some((name) => text.includes(`/${name}.js"`)) ? 1 : 2;
  };
  const nearest = tests
    .map((path) => ({ path, far: distance(path) }))
    .filter(({ path, far }) => far === 0 || !(longTest.test(path) || (far === 2 && propertyTest.test(path))))
    .sort((a, b) => a.far - b.far)
    .slice(0, maxTestFiles)
    .map(({ path }) => path);
  if (tests.length > nearest.length) {
    console.log(`The ${nearest.length} nearest of ${tests.length} related test files run.`);
  }
  return nearest.length === 0 ? "ok" : step("tests", "jest", [...select, "--runTestsByPath", ...nearest]);
}

/** Runs a tool of node_modules, and shows what it said where it failed. */
async function step(title, tool, args) {
  const begun = performance.now();
  try {
    await output(tool, args);
    console.log(`ok    ${title} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
    return "ok";
  } catch (error) {
    console.log(`FAIL  ${title}\n${error.message}`);
    return "failed";
  }
}

function output(tool, args) {
  const child = spawn(join(root, "node_modules", ".bin", tool), args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let [printed, complained] = ["", ""];
    child.stdout.on("data", (text) => (printed += text));
    child.stderr.on("data", (text) => (complained += text));
    child.once("error", reject);
    child.once("close", (status) => (status === 0 ? resolve(printed) : reject(new Error(printed + complained))));
  });
}

function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" });
}

/** Checks again after each save; saves during a check wait for its end. */
function watchForever() {
  let [saved, busy] = [false, false];
  const again = async () => {
    while (saved && !busy) {
      [saved, busy] = [false, true];
      // An editor saves in several steps, and a formatter after it.
      await new Promise((resolve) => setTimeout(resolve, 300));
      await checkAll();
      busy = false;
    }
  };
  for (const room of roomsWithCode.filter((name) => existsSync(join(root, name)))) {
    watch(join(root, room), { recursive: true }, () => {
      saved = true;
      void again();
    });
  }
  console.log("Waiting for the next save; Ctrl-C ends this.");
}
