import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../messages/roles.js";

/** A view and what the user brings to it. */
export interface TurnInput {
  readonly view: readonly BaseMessage[];
  readonly brought: readonly BaseMessage[];
  readonly turnId: string | undefined;
}

/** Where a turn begins. */
export interface TurnStart {
  /** What the runnable sees of the view. */
  readonly before: readonly BaseMessage[];
  /** What it sees behind that. */
  readonly shown: readonly BaseMessage[];
  /** What of it is to be stored. */
  readonly fresh: readonly BaseMessage[];
  /** True where the turn is stored already, answer and all. */
  readonly isStored: boolean;
}

/**
 * Tells what is new of what the user brings: messages whose id is in the view are not brought a second time, as by a
 * client that sends its whole history.
 *
 * Where all that is brought is in the view (by its ids, or by the turn's), this is the retry of a turn: it runs again
 * on what came before it, and if its answer is in the view too, there is nothing to store.
 */
export function startTurn({ view, brought, turnId }: TurnInput): TurnStart {
  const positions = new Map(view.flatMap(({ id }, index) => (id === undefined ? [] : [[id, index] as const])));
  const isKnown = ({ id }: BaseMessage) => id !== undefined && positions.has(id);
  const fresh = brought.filter((message) => !isKnown(message));
  const named = turnId === undefined ? [] : fresh.map((_, index) => `${turnId}-${index}`);
  const last = positions.get((fresh.length === 0 ? brought.at(-1)?.id : named.at(-1)) ?? "");
  if (last === undefined) {
    return { before: view, shown: fresh, fresh, isStored: false };
  }
  const ids = new Set([...brought.map(({ id }) => id), ...named]);
  let first = last;
  while (first > 0 && ids.has(view[first - 1]!.id)) {
    first -= 1;
  }
  const earlier = new Set(view.slice(0, first).map(({ id }) => id));
  const shown = brought.filter(({ id }) => id === undefined || !earlier.has(id));
  return {
    before: view.slice(0, first),
    shown,
    fresh,
    isStored: view.slice(last + 1).some((message) => roleOf(message) === "ai"),
  };
}
