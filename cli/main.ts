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

process.exitCode = await runCommandLine(process.argv.slice(2), { out, err, env }, interruption.signal);
