import { randomToken } from "../../base/ids.js";
import { sideWithPrefix, type SideWrite } from "../contract/side-fields.js";
import { askOf, askText, runOnSession } from "../redis/script-runner.js";
import { sideArguments } from "./append-call.js";
import type { SessionPlace } from "./calls.js";
import { sideFrom } from "./reads.js";
import { readSideScript, writeSideScript } from "../redis/lua/later-scripts.js";

/** The side fields whose names begin with a prefix. */
export async function readSide(
  { runner, session, keys }: SessionPlace,
  prefix: string,
): Promise<Readonly<Record<string, string>>> {
  const call = {
    script: readSideScript,
    keys: [keys.state],
    args: [askText(session), `side:${prefix}`],
    writes: false,
  };
  const [, ...reply] = (await runOnSession(
    runner,
    { operation: "readSide", sessionId: session.id },
    call,
  )) as unknown[];
  return sideWithPrefix(sideFrom(reply), "");
}

/**
 * Writes side fields by compare-and-set. Returns the session's owner, or `""`; undefined if an expected value is not
 * stored.
 */
export async function writeSide(
  { runner, session, keys: { log, ids, state } }: SessionPlace,
  changes: SideWrite,
): Promise<string | undefined> {
  const expected = Object.entries(changes.expected ?? {}).flatMap(([name, value]) => [
    `side:${name}`,
    value === undefined ? "0" : "1",
    value ?? "",
  ]);
  const side = sideArguments(changes);
  const numbers = { epoch: randomToken(), expects: expected.length / 3, ttl: changes.ttlMs };
  const request = { ...side.request, ...numbers, ...askOf(session) };
  const args = [JSON.stringify(request), ...expected, ...side.args];
  const name = { operation: "writeSide", sessionId: session.id };
  const call = { script: writeSideScript, keys: [log, ids, state], args, writes: true };
  const [word, owner] = (await runOnSession(runner, name, call)) as [string, string?];
  return word === "OK" ? (owner ?? "") : undefined;
}
