import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/**
 * A network of a certain latency before the server. It is a process of its own: its timers must not wait for the
 * clients' work.
 */
export interface SlowNetwork {
  readonly url: string;
  stop(): void;
}

/** Starts it; replies arrive so many milliseconds late. */
export async function startSlowNetwork(serverPort: number, milliseconds: number): Promise<SlowNetwork> {
  const script = fileURLToPath(new URL("../children/delaying-proxy.ts", import.meta.url));
  const child: ChildProcess = fork(script, [String(serverPort), String(milliseconds)], {
    execArgv: ["--import", "tsx"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.once("message", (message) => resolve(String(message)));
    child.once("exit", () => reject(new Error("The delaying proxy stopped at start.")));
  });
  return { url, stop: () => void child.kill() };
}
