#!/usr/bin/env node
import { runCommandLine } from "./command-line.js";
import { exitCodes } from "./exit-codes.js";

const { stdout: out, stderr: err, env } = process;

// A reader such as `head` that has seen enough closes the pipe.
out.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") {
    process.exit(exitCodes.done);
  }
  throw error;
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
