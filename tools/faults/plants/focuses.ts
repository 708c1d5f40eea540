import type { Focus } from "../plan/session-plan.js";
import type { PlantName } from "./plants.js";

const alone = { "fork-session": 0, "list-sessions": 0, "held-turn": 0, "erase-owner": 0, "erase-beside": 0 };
const quiet = { ...alone, "start-answer": 0, "follow-answer": 0 };
const beside: Focus = {
  ...{ reducers: ["none"], removals: ["erase"] },
  weights: { ...quiet, "agent-turn": 0, "managed-turn": 0, "erase-beside": 20 },
};
const brief = { ...quiet, "agent-turn": 0, "managed-turn": 0, "message-history-run": 0, "chain-turn": 0 };

/**
 * The work of clients in runs with a planted defect: mostly that whose promise it breaks, all at once on few sessions.
 * A run of a few seconds is then enough, also on a machine that has other work.
 */
export const focuses: Readonly<Record<PlantName, Focus>> = {
  // Turns that come again.
  idempotence: { reducers: ["none"], removals: ["none"], weights: { ...brief, "retry-turn": 10 } },
  // Rewinds while a summary is written, which takes longer than they do.
  "compare-and-set": {
    ...{ reducers: ["summary"], removals: ["rewind"], reduceWhen: "background" },
    weights: { ...brief, "take-back": 15, "append-with-ids": 3, "append-with-turn-id": 0 },
  },
  // Steps for a reducer that splits them, and reads.
  "step-check": { reducers: ["foreign"], removals: ["none"], weights: { ...brief, "read-view": 8 } },
  // Long turns of several writers.
  "torn-write": { reducers: ["none"], removals: ["none"], weights: { ...brief, "append-with-ids": 12 } },
  // Reads beside writes.
  "early-ack": { reducers: ["none"], removals: ["none"], weights: { ...brief, "read-view": 12 } },
  // Two savers on each thread, one of which drops items.
  "stale-checkpoint": { reducers: ["none"], removals: ["none"], weights: { ...brief, "put-checkpoints": 15 } },
  // Readers of runs that leave and come again.
  "run-position": { removals: ["none"], weights: { ...brief, "start-answer": 10, "follow-answer": 20 } },
  // Objects that are sent again.
  "retry-id": { reducers: ["none"], removals: ["none"], weights: { ...brief, "append-plain": 25 } },
  // Owners that are erased beside writers.
  "erasure-guard": { reducers: ["none"], removals: ["erase"], weights: { ...brief, "erase-owner": 2, "read-view": 6 } },
  // Owners with threads, runs and items, and no session, that are erased.
  "thread-erasure": beside,
  "run-erasure": beside,
  "item-erasure": beside,
  // Turns of HistoryManager that come again.
  "turn-name": { reducers: ["none"], removals: ["none"], weights: { ...brief, "managed-turn": 12, "retry-turn": 12 } },
  // Reductions, and reads.
  "view-start": { reducers: ["summary"], removals: ["none"], weights: { ...brief, "read-view": 8 } },
  "discard-start": { reducers: ["truncation"], removals: ["none"], weights: { ...brief, "read-view": 8 } },
  // Rewinds, after which others write as much again.
  "kept-view": { reducers: ["none"], removals: ["rewind"], weights: { ...brief, "replace-from": 10, "read-view": 12 } },
  // Clears beside writers, whose replies are lost, and reads that show that the first of them was made.
  "clear-again": {
    ...{ reducers: ["none"], removals: ["clear"], faults: ["lose-reply"] },
    weights: { ...brief, clear: 20, "read-view": 15, "append-plain": 15, "retry-turn": 0, "put-checkpoints": 0 },
  },
  // Rewinds of several writers.
  "blind-rewind": {
    ...{ reducers: ["none"], removals: ["rewind"] },
    weights: { ...brief, rewind: 25, "replace-from": 20, "append-with-ids": 20, "put-checkpoints": 0 },
  },
  // Turns of chains that come again.
  "turn-mark": { reducers: ["none"], removals: ["none"], weights: { ...quiet, "chain-turn": 8, "retry-turn": 15 } },
  "chain-turn-name": {
    reducers: ["none"],
    removals: ["none"],
    weights: { ...quiet, "chain-turn": 8, "retry-turn": 15 },
  },
  // Rewinds of views that were made smaller.
  "rewound-start": { reducers: ["truncation"], removals: ["rewind"], weights: { ...brief, rewind: 8, "take-back": 6 } },
  // Reductions beside writers.
  "stale-length": { reducers: ["summary"], removals: ["none"], weights: { ...brief, "append-with-ids": 10 } },
  "base-left": { reducers: ["truncation"], removals: ["none"], weights: { ...brief, "read-view": 8 } },
  "head-left": { reducers: ["summary"], removals: ["rewind"], weights: { ...brief, rewind: 8, "take-back": 6 } },
  // Turns that hold the session, some by a process that stops meanwhile.
  "unfenced-turn": {
    ...{ reducers: ["none"], removals: ["none"] },
    weights: { ...brief, "held-turn": 40, "put-checkpoints": 0, "append-with-turn-id": 0 },
  },
  // Turns that clear the session that they hold; simulations make them of others that hold it. Reads behind them.
  "held-clear": {
    ...{ reducers: ["none"], removals: ["clear"] },
    weights: { ...brief, "held-turn": 10, "clear-held": 10, clear: 0, "read-view": 15, "put-checkpoints": 0 },
  },
  // Keys that are rotated beside rewinds, after which others write as much again.
  "blind-swap": {
    ...{ reducers: ["none"], removals: ["rewind"], isEncrypted: true },
    weights: { ...brief, "rotate-keys": 20, "replace-from": 12, rewind: 6, "put-checkpoints": 0 },
  },
  // Appends.
  "one-expiry": { reducers: ["none"], removals: ["none"], weights: brief },
  // Copies of sessions that are rewound meanwhile.
  "fork-moment": {
    ...{ reducers: ["truncation"], removals: ["rewind"] },
    weights: { ...brief, "fork-session": 10, rewind: 30, "append-with-ids": 15, "put-checkpoints": 0 },
  },
  // Walks through lists that are longer than a page.
  "list-page": {
    reducers: ["none"],
    removals: ["none"],
    weights: { ...brief, "fork-session": 8, "list-sessions": 20 },
  },
  // Reductions by summaries in all processes at once.
  lease: { reducers: ["summary"], removals: ["none"], weights: { ...brief, "reduce-by-hand": 3 } },
};
