import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { explore } from "../../tools/faults/simulation/explore.js";
import { Schedule } from "../../tools/faults/simulation/schedule.js";
import {
  smallScenarioOf,
  type Deviation,
  type PlannedLane,
  type Scenario,
} from "../../tools/faults/simulation/scenario.js";
import type { Outcome } from "../../tools/faults/simulation/simulate.js";
import { SimulatedProcess, type Happening } from "../../tools/faults/simulation/world.js";
import { playScenarios } from "../support/simulations.js";

const scenario = smallScenarioOf(1);
const nothing = { findings: [], acknowledged: 0, judgedAgain: 0, undecided: 0, history: [] };
const bounds = { deviations: 2, most: Infinity, isOver: () => false };

/** Explores a scenario that has so many options at each choice, as told by the order. */
async function ordersOf(optionsOf: (order: readonly Deviation[]) => number[], more: Partial<typeof bounds> = {}) {
  const orders: string[] = [];
  const play = async ({ order }: Scenario): Promise<Outcome> => {
    orders.push(JSON.stringify(order));
    return { ...nothing, options: optionsOf(order!) };
  };
  return { ...(await explore(scenario, play, { ...bounds, ...more })), orders };
}

test("each schedule within the bound is played once, those with fewer deviations first", async () => {
  const { schedules, isWhole, orders } = await ordersOf(() => [2, 3, 2]);
  const expected = [
    ...["[]", "[[0,1]]", "[[1,1]]", "[[1,2]]", "[[2,1]]"],
    ...["[[0,1],[1,1]]", "[[0,1],[1,2]]", "[[0,1],[2,1]]", "[[1,1],[2,1]]", "[[1,2],[2,1]]"],
  ];
  expect({ schedules, isWhole }).toEqual({ schedules: 10, isWhole: true });
  expect(orders.toSorted()).toEqual(expected.toSorted());
  const lengths = orders.map((order) => (JSON.parse(order) as Deviation[]).length);
  expect(lengths).toEqual(lengths.toSorted());
});

test("a process goes on until a deviation lets another one go on, or a fault meets its request", () => {
  const [one, two] = [new SimulatedProcess("one", 0), new SimulatedProcess("two", 0)];
  const requests = [one, two].map((process) => ({ sender: () => process }) as unknown as Happening);
  const chosen = (order: readonly Deviation[]) => {
    const schedule = new Schedule(order);
    const names = [1, 2, 3].map(() => {
      const { sender, fault } = schedule.choose(requests);
      return fault === undefined ? sender.name : `${sender.name} ${fault}`;
    });
    return { names, options: schedule.options };
  };
  expect(chosen([])).toEqual({ names: ["one", "one", "one"], options: [6, 6, 6] });
  expect(chosen([[1, 1]]).names).toEqual(["one", "two", "two"]);
  expect(
    chosen([
      [0, 2],
      [2, 3],
    ]).names,
  ).toEqual(["one lose-reply", "one", "one kill"]);
  expect(chosen([[0, 4]]).names[0]).toBe("one stall");
  expect(chosen([[0, 5]]).names[0]).toBe("one full");
});

test("two appends arrive in both orders, and each order gives the same on another machine", async () => {
  const lane = (process: number): PlannedLane => ({
    ...{ process, session: 0 },
    operations: [{ name: "append-plain", pauseMs: 10, draw: process }],
  });
  const [plan] = scenario.plans;
  const plain = { removals: "none", reducer: "none", isEncrypted: false, owner: undefined } as const;
  const appends = { ...scenario, plans: [{ ...plan!, ...plain }], lanes: [lane(0), lane(1)] };
  const orders: Deviation[][] = [[], [[0, 1]], [[0, 2]], [[0, 3]], [[0, 4]], [[0, 5]]];
  const scheduled = orders.map((order) => ({ ...appends, order }));
  const here = await playScenarios(scheduled);
  const there = await playScenarios(scheduled, { env: { TZ: "Pacific/Auckland" }, flags: ["--random-seed=9"] });
  expect(here.map(({ findings }) => findings)).toEqual(orders.map(() => []));
  expect(new Set(here.map(({ digest }) => digest)).size).toBe(orders.length);
  expect(there.map(({ digest }) => digest)).toEqual(here.map(({ digest }) => digest));
  // A process that was killed knows of no reply; a full server's is asked again.
  expect(here.map(({ options }) => options![0])).toEqual(orders.map(() => 6));
});

test("a defect that needs an order is found, with the order that shows it", async () => {
  const options = ["--orders", "--plants", "torn-write"];
  const program = ["--import", "tsx", "tools/faults/simulation/main.ts", ...options];
  const { stdout } = await promisify(execFile)(process.execPath, program);
  expect(stdout).toMatch(/^torn-write: found by torn/);
});
