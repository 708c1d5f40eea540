import type { BaseMessage } from "@langchain/core/messages";
import { findBoundaries } from "../../messages/steps.js";
import { roleOf, type Role } from "../../messages/roles.js";

/** A stretch of messages whose end is worth a mark, as indexes: from `first` to `last`, both included. */
export interface MarkPlace {
  readonly first: number;
  readonly last: number;
}

/**
 * Places for marks, the most helpful first: the end of the newest complete round, of the head (system messages and
 * summaries at the front) and of the system messages; then the newest complete step of a round that goes on, and the
 * complete round and step before, where the request before had its marks. Linear.
 */
export function markPlaces(messages: readonly BaseMessage[]): MarkPlace[] {
  const roles = messages.map(roleOf);
  const systems = leading(roles, (role) => role === "system");
  const head = leading(roles, (role) => role === "system" || role === "summary");
  const boundaries = findBoundaries(messages);
  const rounds: number[] = [];
  const steps: number[] = [];
  for (let index = head; index < messages.length; index += 1) {
    if (boundaries[index + 1] !== 1) {
      continue;
    }
    const next = roles[index + 1];
    if (next === "human" || (next === undefined && roles[index] === "ai")) {
      rounds.push(index);
    } else if (roles[index] === "tool" && next !== "tool") {
      steps.push(index);
    }
  }
  const round = rounds.at(-1);
  const open = steps.filter((index) => index > (round ?? -1));
  const done = steps.slice(0, steps.length - open.length);
  const chosen = [round, head - 1, systems - 1, ...open.slice(-2).reverse(), rounds.at(-2), done.at(-1)];
  const ends = [...new Set(chosen)].filter((index) => index !== undefined && index >= 0) as number[];
  const inOrder = [...ends].sort((a, b) => a - b);
  return ends.map((last) => ({ first: (inOrder[inOrder.indexOf(last) - 1] ?? -1) + 1, last }));
}

function leading(roles: readonly Role[], belongs: (role: Role) => boolean): number {
  const end = roles.findIndex((role) => !belongs(role));
  return end < 0 ? roles.length : end;
}
