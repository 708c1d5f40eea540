import { escapeGlob, mastersOf } from "../redis/scan-keys.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { decodeSessionId } from "../store/session-ref.js";

const pageLength = 1_000;

/** The ids of all threads on all masters, each once. */
export async function* scanThreads(runner: ScriptRunner, keyPrefix: string): AsyncGenerator<string> {
  const name = { operation: "list", sessionId: "" };
  const { nodes, prefix } = await runner.send(name, async (client) => mastersOf(client));
  const start = `${prefix}${keyPrefix}:{`;
  const end = "}:order";
  const seen = new Set<string>();
  for (const node of nodes) {
    let cursor = "0";
    do {
      const args = [cursor, "MATCH", `${escapeGlob(start)}*${end}`, "COUNT", pageLength];
      const [next, keys] = (await runner.send(name, () => node.call("scan", args))) as [unknown, string[]];
      cursor = String(next);
      for (const key of keys) {
        const threadId = decodeSessionId(key.slice(start.length, -end.length));
        if (threadId !== undefined && !seen.has(threadId)) {
          seen.add(threadId);
          yield threadId;
        }
      }
    } while (cursor !== "0");
  }
}
