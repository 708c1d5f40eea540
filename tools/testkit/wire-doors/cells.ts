import { partsOfCells } from "../wire-matrix/parts.js";

/**
 * The ways of an application to its model: a chain, a chain with `wired(model)` in it, an agent, a chain whose function
 * calls the model, out of the memory's sight, and a loop of its own with a HistoryManager.
 */
export const doors = ["chain", "wired chain", "agent", "hidden", "loop"] as const;

/** One of {@link doors}. */
export type Door = (typeof doors)[number];

/** How a door is called. */
export const modes = ["invoke", "stream"] as const;

/** One of {@link modes}. */
export type Mode = (typeof modes)[number];

/** The adapters whose requests go to an enforcing server. */
export const doorProviders = [
  "openai-chat",
  "responses",
  "anthropic",
  "google",
  "google-genai",
  "mistral",
  "bedrock",
] as const;

/** One of {@link doorProviders}. */
export type DoorProvider = (typeof doorProviders)[number];

/** Changes of a conversation between its requests. */
export const doorOperations = [
  "none",
  "truncation",
  "truncation at each turn",
  "tokens",
  "summary",
  "clip",
  "repair: a lost result",
  "repair: calls by hand",
  "names with spaces",
  "another provider's answers",
  "retry of the question",
  "retry of a step",
  "stop",
  "rewind",
  "edited question",
  "fork",
  "recalled",
  "late system message",
  "another system text",
  "another tool",
  "interrupt",
  "summary by hand",
  "redacted",
  "changes at random 1",
  "changes at random 2",
  "changes at random 3",
] as const;

/** One of {@link doorOperations}. */
export type DoorOperation = (typeof doorOperations)[number];

/** The result of one cell. */
export interface CellReport {
  /** `door/mode/provider/operation` */
  readonly cell: string;
  /** Requests that the server received. */
  readonly requests: number;
  /** Rules that a request broke, with the number of the request. */
  readonly refused: readonly string[];
  /** Errors of runs that should have succeeded. */
  readonly failed: readonly string[];
  /** Whether the operation took place. */
  readonly happened: boolean;
}

/** Chains with `wired(model)` are tried where it makes a difference. */
const wiredProviders: readonly DoorProvider[] = ["anthropic", "google-genai"];

/** One cell. */
export interface Cell {
  readonly door: Door;
  readonly mode: Mode;
  readonly provider: DoorProvider;
  readonly operation: DoorOperation;
}

/** Operations that a loop of its own has no call for. */
const notInLoops: ReadonlySet<DoorOperation> = new Set(["stop", "interrupt", "late system message"]);

/** Every cell of the table. */
export function allCells(): readonly Cell[] {
  return doors.flatMap((door) =>
    (door === "wired chain" ? wiredProviders : doorProviders).flatMap((provider) =>
      modesOf(door).flatMap((mode) =>
        doorOperations
          .filter((operation) => door !== "loop" || !notInLoops.has(operation))
          .map((operation) => ({ door, mode, provider, operation })),
      ),
    ),
  );
}

/** A function returns its answer whole, and to a loop of its own streams make no difference. */
function modesOf(door: Door): readonly Mode[] {
  return door === "hidden" || door === "loop" ? ["invoke"] : modes;
}

/**
 * Parts of the cells, numbered from 0 to 11: each has cells of each door, provider and mode. Together they are all.
 */
export function cellsOfParts(parts: readonly number[]): readonly Cell[] {
  const all = allCells();
  return all.filter(({ door, mode, provider, operation }) => {
    const places = [
      doors.indexOf(door),
      modes.indexOf(mode),
      doorProviders.indexOf(provider),
      doorOperations.indexOf(operation),
    ];
    return parts.includes(places.reduce((sum, place) => sum + place) % partsOfCells);
  });
}

/** The name of a cell. */
export function cellName({ door, mode, provider, operation }: Cell): string {
  return [door, mode, provider, operation].join("/");
}
