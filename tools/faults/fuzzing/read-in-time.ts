import { read } from "./targets.js";

/** Calls a reader as `read` does. Fails also where it takes more than a second of CPU: the machine may be busy. */
export function readInTime(name: string, text: string): Promise<void> | undefined {
  const begin = process.cpuUsage();
  const result = read(name, text);
  if (result === undefined) {
    checkTime(begin);
  }
  return result?.then(() => checkTime(begin));
}

function checkTime(begin: NodeJS.CpuUsage): void {
  const { user, system } = process.cpuUsage(begin);
  if (user + system > 1_000_000) {
    throw new Error(`It took ${(user + system) / 1_000} ms.`);
  }
}
