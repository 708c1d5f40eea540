import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buildPrograms } from "./built-programs.js";
import { readDocument } from "./markdown.js";

const root = join(__dirname, "../..");

/** One process of a guide's server. */
export interface Instance {
  readonly url: string;
  /** Ends it as an operator does, or at once. */
  stop(signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** The server that a guide names. */
export interface GuideServer {
  /** Starts an instance; resolves when it says its address. */
  start(env: NodeJS.ProcessEnv): Promise<Instance>;
  /** Stops all that still run. */
  stop(): Promise<void>;
}

/** Builds the server that a guide names, a program of the examples. */
export async function buildGuideServer(path: string): Promise<GuideServer> {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const folder = mkdtempSync(join(root, ".cache", "guide-"));
  const source = join(folder, "server.mts");
  writeFileSync(source, readDocument(root, path));
  const built = await buildPrograms([source], { withPackages: true });
  const children = new Set<ChildProcess>();
  const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
    if (children.delete(child)) {
      child.kill(signal);
      await once(child, "exit");
    }
  };
  return {
    start: async (env) => {
      const setting = { ...process.env, PORT: "0", ...env };
      const child = spawn(process.execPath, [built.pathOf(source)], {
        env: setting,
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.add(child);
      const [url] = (await once(createInterface(child.stdout), "line")) as [string];
      return { url, stop: (signal = "SIGTERM") => end(child, signal) };
    },
    stop: async () => {
      await Promise.all([...children].map((child) => end(child, "SIGTERM")));
      built.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
