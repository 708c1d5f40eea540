import { refusalFrom } from "../store/refusals.js";
import type { CallName } from "./errors.js";
import type { ScriptCall, ScriptRunner } from "./script-runner.js";

/**
 * Runs a script on a session and returns its reply, a list that begins with a word; a text where an append took its
 * short path.
 *
 * @throws what the reply refuses, see {@link refusalFrom}.
 */
export async function runOnSession(runner: ScriptRunner, name: CallName, call: ScriptCall): Promise<unknown> {
  const reply = await runner.run(name, call);
  const [word, detail] = Array.isArray(reply) ? (reply as unknown[]) : [];
  const refusal = refusalFrom(word, detail, name);
  if (refusal !== undefined) {
    throw refusal;
  }
  return reply;
}
