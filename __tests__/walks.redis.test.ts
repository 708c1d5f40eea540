import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { pathsNamed, readDocument } from "./support/markdown.js";
import { sharedRedisUrl, uniquePrefix } from "./support/shared-redis.js";

const root = join(__dirname, "..");

/** Files of `src` in which a function may run, at most. To be lowered with each merge. */
const budgets = {
  append: 17,
  "append with an owner": 21,
  view: 10,
  "a chain's turn": 35,
  "an agent's turn": 37,
};

/** Promises of a call, at most, with that of the recorder's `await`. To be lowered with each merge. */
const promiseBudgets = { "a model alone": 26, "a read": 6, "an append": 7, "a chain's turn": 106 };

/** The files and the promises that the recorder prints. */
interface Recorded {
  readonly walks: Readonly<Record<keyof typeof budgets, string[]>>;
  readonly promises: typeof promiseBudgets;
}

/** Bundles the recorder into one script inside of this folder, from which it finds its packages. */
function recordWalks(): Recorded {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const folder = mkdtempSync(join(root, ".cache", "walks-"));
  try {
    const outfile = join(folder, "record-walks.mjs");
    const bundle = { bundle: true, format: "esm", platform: "node", packages: "external", target: "node20" } as const;
    const entryPoints = [join(root, "__tests__/support/record-walks.ts")];
    buildSync({ ...bundle, entryPoints, outfile, absWorkingDir: root });
    const printed = execFileSync(process.execPath, [outfile, sharedRedisUrl(), uniquePrefix()], { encoding: "utf8" });
    return JSON.parse(printed) as Recorded;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the files of src in which a function runs", () => {
  let walks: Recorded["walks"];
  let promises: Recorded["promises"];
  beforeAll(() => {
    ({ walks, promises } = recordWalks());
  });

  it.each(Object.keys(promiseBudgets) as (keyof typeof promiseBudgets)[])("make the promises of %s", (name) => {
    expect(promises[name]).toBeGreaterThan(4);
    expect({ promises, isWithin: promises[name] <= promiseBudgets[name] }).toEqual({ promises, isWithin: true });
  });

  it.each(Object.keys(budgets) as (keyof typeof budgets)[])("stay within the budget of %s", (name) => {
    const files = walks[name];
    // Fewer would mean that the recorder sees nothing.
    expect(files.length).toBeGreaterThan(5);
    expect({ files, isWithin: files.length <= budgets[name] }).toEqual({ files, isWithin: true });
  });

  it.each([
    ["an append", "append"],
    ["a read", "view"],
  ] as const)("are those that ARCHITECTURE names on the way of %s", (way, name) => {
    const sections = readDocument(root, "ARCHITECTURE.md").split(/^## /m);
    const [, , steps] = sections.find((text) => text.startsWith(`The way of ${way}\n`))!.split("\n\n");
    const named = pathsNamed(steps!).filter((path) => /^src\/.*\.ts$/.test(path) && !path.includes("/scripts/"));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((path) => !walks[name].includes(path))).toEqual([]);
  });

  it("spare the owners' lists where a session has no owner", () => {
    const { append, "append with an owner": owned } = walks;
    const ofLists = (files: readonly string[]) => files.filter((path) => path.startsWith("src/store/redis-lists/"));
    expect(ofLists(append)).toEqual([]);
    expect(ofLists(owned)).not.toEqual([]);
  });
});
