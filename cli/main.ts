#!/usr/bin/env node
import { runCommandLine } from "./command-line.js";
import { exitCodes } from "./command.js";

const { stdout: out, stderr: err, env } = process;

// A reader such as `head` that has seen enough closes the pipe; an export is not complete then.
out.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code === "EPIPE" && process.argv[2] !== "export") {
    process.exit(exitCodes.done);
  }
  err.write(`Standard output cannot be written (${code}); what was written is not complete.\n`);
  process.exit(exitCodes.findings);
});

const interruption = new AbortController();
process.on("SIGINT", () => {
  if (interruption.signal.aborted) {
    process.exit(exitCodes.interrupted);
  }
  interruption.abort();
});

// Node.js ends with this code, and without a word, where an awaited answer can no longer come.
const unsettled = 13;
process.on("exit", () => {
  if (process.exitCode === unsettled) {
    err.write("The command ended before its work was done: an answer never came. Run it again.\n");
    process.exitCode = exitCodes.unreachable;
  }
});

process.exitCode = await runCommandLine(process.argv.slice(2), { out, err, env }, interruption.signal);
