import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { commandEntries } from "../../cli/command-entries.js";
import { commandEnvironment } from "../support/built-command.js";
import { commandPlaces } from "../support/command-places.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const script = join(__dirname, "../../dist/cli/main.js");
const { place, file } = commandPlaces("unwritable");
const keys = { LANGCHAIN_REDIS_MEMORY_KEYS: `k1:${Buffer.alloc(32, 1).toString("base64")}` };

/** Operands with which each command prints what it did. `prune` needs a thread; the others go on until Ctrl-C. */
const operands: Readonly<Record<string, readonly string[]>> = {
  ...{ sessions: [], threads: [], show: ["s"], stats: [], search: ["Oslo"], check: ["--all"] },
  ...{ doctor: [], rebuild: ["s"], delete: ["s", "--yes"], reindex: [], reencrypt: [], export: ["s"], simulate: ["s"] },
  ...{ import: [file('{"messages":[{"role":"user","content":"Oslo?"}]}\n'), "--format", "openai"] },
  migrate: ["--pattern", "nothing-*"],
};

/** Runs the built command with its standard output into a file or device, or into a pipe that nobody reads. */
async function run(name: string, output: number | "closed pipe") {
  const { memory, keyPrefix } = place();
  await memory.history("s", { owner: "ann" }).addMessages([human("Oslo?"), ai("x".repeat(1_000))]);
  await memory.drain();
  const args = [script, name, ...operands[name]!, "--url", sharedRedisUrl(), "--prefix", keyPrefix];
  const child = spawn(process.execPath, args, {
    env: commandEnvironment(keys),
    stdio: ["ignore", output === "closed pipe" ? "pipe" : output, "pipe"],
  });
  child.stdout?.destroy();
  let errors = "";
  child.stderr!.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const [exitCode] = (await once(child, "close")) as [number];
  return { exitCode, errors };
}

it("covers each command that ends by itself and prints", () => {
  expect([...Object.keys(operands), "prune", "watch", "inspect"].sort()).toEqual(
    commandEntries.map(({ name }) => name).sort(),
  );
});

describe.each(Object.keys(operands))("the command %s", (name) => {
  (existsSync("/dev/full") ? it : it.skip)(
    "says in one sentence that a full disk took no output, and ends with 1",
    async () => {
      const full = openSync("/dev/full", "w");
      try {
        expect(await run(name, full)).toEqual({
          exitCode: 1,
          errors: expect.stringMatching(
            /^([^\n]*\n)?Standard output cannot be written \(ENOSPC\); what was written is not complete\.\n$/,
          ),
        });
      } finally {
        closeSync(full);
      }
    },
  );

  it("ends where its reader has seen enough: with 0, an export with 1", async () => {
    const { exitCode, errors } = await run(name, "closed pipe");
    expect([exitCode, errors]).not.toEqual([expect.anything(), expect.stringMatching(/^ {4}at /m)]);
    expect(exitCode).toBe(name === "export" ? 1 : 0);
    expect(errors.endsWith("cannot be written (EPIPE); what was written is not complete.\n")).toBe(exitCode === 1);
  });
});
