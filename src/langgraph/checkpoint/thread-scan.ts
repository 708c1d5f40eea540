import { scanNames } from "../../store/redis/scan-keys.js";
import type { ScriptRunner } from "../../store/redis/script-runner.js";

/** The ids of all threads on all masters, each once. */
export async function* scanThreads(runner: ScriptRunner, keyPrefix: string): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { keys } of scanNames({ runner, keyPrefix }, "order")) {
    for (const { id } of keys.filter((key) => !seen.has(key.id))) {
      seen.add(id);
      yield id;
    }
  }
}
