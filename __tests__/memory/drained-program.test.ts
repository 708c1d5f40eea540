import { spawnSync } from "node:child_process";
import { buildPrograms } from "../support/built-programs.js";

describe("drain() as the last line of a program", () => {
  it("keeps the process alive until what it waits for is done", async () => {
    const program = "__tests__/support/drained-program.ts";
    const built = await buildPrograms([program]);
    try {
      const { status, stdout, stderr } = spawnSync(process.execPath, [built.pathOf(program)], { encoding: "utf8" });
      expect({ status, lines: stdout.trim().split("\n").at(-1), stderr }).toEqual({
        ...{ status: 0, lines: "drained", stderr: "" },
      });
    } finally {
      built.remove();
    }
  });
});
