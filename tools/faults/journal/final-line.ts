import type { FinalSession } from "../checking/session-case.js";
import { writeRuns } from "./runs.js";

/** Stands for a message that could not be read. */
export const unread = { turn: "unread", index: 0 };

/** The contents of a session when all was over, as a line for who judges the journals alone. */
export function finalLine({ id, slot, discarded, log, view }: FinalSession, at: number): string {
  const runs = { log: writeRuns(log.map((token) => token ?? unread)), view: writeRuns(view.tokens) };
  return `${JSON.stringify({ session: id, at, slot, discarded, ...runs, summed: view.covered.length > 0 })}\n`;
}
