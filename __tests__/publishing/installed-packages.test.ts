import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Locked {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const root = join(__dirname, "..", "..");
const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Readonly<Record<string, Locked>>;
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
