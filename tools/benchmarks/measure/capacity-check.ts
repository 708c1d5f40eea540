import type { Shape } from "../setting/capacity-work.js";
import { at, sessionBytes, type MemoryModel, type TurnModel } from "./capacity-model.js";
import type { ServerCost } from "./server-cost.js";

/** What a cluster took, and what was foretold. */
export interface ClusterCheck {
  readonly sessions: number;
  readonly turns: number;
  /** Of each master. */
  readonly bytes: readonly number[];
  /** Of all turns and masters. */
  readonly cost: ServerCost;
  readonly predicted: Prediction;
}

/** Sums over all sessions, and over all turns. */
export interface Prediction {
  readonly bytes: number;
  readonly cpu: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** What sessions of these shapes take, and a turn of each of some. */
export function predict(
  { memory, turn }: { readonly memory: MemoryModel; readonly turn: TurnModel },
  work: {
    readonly shapes: readonly Shape[];
    /** Bytes of a record, by the characters of its text. */
    readonly recordBytes: ReadonlyMap<number, number>;
    readonly turns: readonly Shape[];
  },
): Prediction {
  const sum = <T>(items: readonly T[], of: (item: T) => number) => items.reduce((total, item) => total + of(item), 0);
  const size = ({ characters }: Shape) => work.recordBytes.get(characters)!;
  // The model of a turn was made with texts of 400 characters; a view of others is as long as so many of these.
  const view = (shape: Shape) => (shape.messages * size(shape)) / work.recordBytes.get(400)!;
  return {
    bytes: sum(work.shapes, (shape) => sessionBytes(memory, shape.messages, size(shape))),
    cpu: sum(work.turns, ({ messages }) => at(turn.cpu, messages)),
    bytesIn: sum(work.turns, ({ messages }) => at(turn.bytesIn, messages)),
    bytesOut: sum(work.turns, (shape) => at(turn.bytesOut, view(shape))),
  };
}
