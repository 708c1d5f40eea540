import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hostedCommands } from "./hosted-commands.js";

const folder = mkdtempSync(join(tmpdir(), "hosted-commands-"));
const dying = join(folder, "dying.mjs");
writeFileSync(dying, 'process.stdin.once("data", () => process.exit(7));');
process.env["TEST_COMMAND_HOST"] = dying;
const run = hostedCommands();
afterAll(() => rmSync(folder, { recursive: true }));

it("A command fails whose process dies, and so do those after it", async () => {
  await expect(run(["check", "--all"])).rejects.toThrow("ended by itself (7) at: check --all");
  await expect(run(["show"])).rejects.toThrow("ended by itself (7) at: show");
});
