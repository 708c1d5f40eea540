import { Random } from "../../../tools/testkit/random.js";
import { propertyRuns } from "../../support/property-runs.js";
import type { DoorName } from "./doors.js";
import type { TurnEvent } from "./events.js";
import { playCell, promisedOf, waysOf, type Cell, type OpenStore } from "./play.js";

const random = new Random(Math.floor(Math.random() * 2 ** 32));

/** One of the values, another one in each run. */
export function drawn<T>(values: readonly T[]): T {
  return random.pick(values);
}

/** Cells of an event at a door: a form and a way for each draw; none where the event cannot happen there. */
export function drawnCells(event: TurnEvent, door: DoorName, persists: readonly Cell["persist"][]): Cell[] {
  const ways = waysOf(event, door);
  const draws = ways.length === 0 ? 0 : propertyRuns(1);
  return persists.flatMap((persist) =>
    Array.from({ length: draws }, () => {
      return { event, form: drawn(Object.keys(event.forms)), door, persist, way: drawn(ways) };
    }),
  );
}

/** Plays a cell and compares what was found with what is promised. */
export async function expectPromised(cell: Cell, open: OpenStore): Promise<void> {
  const { form, persist, way } = cell;
  const found = await playCell(cell, open);
  const promised = promisedOf(cell);
  const names = { form, persist, way };
  expect({ ...names, ...found }).toEqual({ ...names, ...promised, issues: [], repeatedIds: [] });
}
