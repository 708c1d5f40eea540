import fc from "fast-check";
import { figureNames, type FigureName } from "../../tools/faults/checking/finding.js";
import { markdownTable } from "../../tools/faults/markdown-table.js";
import { failoverWindows, isTouched } from "../../tools/faults/checking/failover-windows.js";
import { coverageIn, coverageOf, coverageText } from "../../tools/faults/journal/coverage.js";
import { readJournal } from "../../tools/faults/journal/read-journals.js";
import { readRuns, writeRuns, type Token } from "../../tools/faults/journal/runs.js";
import { runOptions } from "../../tools/faults/options.js";
import { faultKinds, faultPlan, type FaultKind } from "../../tools/faults/plan/fault-plan.js";
import { groupsOf, sessionPlan, type Workload } from "../../tools/faults/plan/session-plan.js";
import { smallestFaults } from "../../tools/faults/shrink.js";

const workload: Workload = { seed: 7, processes: 4, groups: 12, writers: 3, sessionMs: 6_000, replicas: true };

describe("A seed", () => {
  it("gives the same sessions and faults each time, and another seed others", () => {
    const sessions = (seed: number) =>
      Array.from({ length: 50 }, (_, index) => sessionPlan({ ...workload, seed }, index % 12, index));
    expect(sessions(7)).toEqual(sessions(7));
    expect(sessions(8)).not.toEqual(sessions(7));
    const faults = (seed: number) => faultPlan(seed, "cluster", { seconds: 60 });
    expect(faults(7)).toEqual(faults(7));
    expect(faults(8)).not.toEqual(faults(7));
  });

  it("leaves the other faults where they were when kinds are left out", () => {
    const all = faultPlan(3, "sentinel", { seconds: 60 });
    const only: FaultKind[] = ["cut-after", "failover"];
    expect(faultPlan(3, "sentinel", { seconds: 60, only })).toEqual(all.filter(({ kind }) => only.includes(kind)));
  });

  it("gives every kind of fault in a long run", () => {
    const kinds = new Set(faultPlan(1, "cluster", { seconds: 600 }).map(({ kind }) => kind));
    expect([...kinds].sort()).toEqual(faultKinds("cluster").sort());
  });

  it("gives each group to as many processes as asked", () => {
    const all = [0, 1, 2, 3].flatMap((process) => groupsOf(workload, process));
    for (let group = 0; group < workload.groups; group += 1) {
      expect(all.filter((other) => other === group)).toHaveLength(workload.writers);
    }
  });
});

describe("A journal", () => {
  it("is read with its answers, also where its process was killed in the middle of a line", () => {
    const text = [
      '{"at":1,"ask":1,"do":"append","session":"s","turn":"a","count":2}',
      '{"at":2,"ask":2,"do":"view","session":"s"}',
      '{"at":3,"told":1,"ok":true}',
      '{"at":4,"told":2,"o',
    ].join("\n");
    expect(readJournal("0-0", text)).toMatchObject([
      { client: "0-0", do: "append", turn: "a", asked: 1, told: 3, ok: true },
      { client: "0-0", do: "view", asked: 2, told: Infinity, ok: false },
    ]);
  });

  it("gives back every list of places", () => {
    const token: fc.Arbitrary<Token> = fc.record({ turn: fc.constantFrom("0.0.1", "1.2.3"), index: fc.nat(5) });
    fc.assert(fc.property(fc.array(token), (tokens) => expect(readRuns(writeRuns(tokens))).toEqual(tokens)));
  });

  it("gives back what summaries say that they cover", () => {
    const [first, second] = [coverageOf(readRuns("a:0-3")), coverageOf(readRuns("b:1-2"))];
    const both = coverageOf(readRuns("b:1-2 a:0-3"));
    expect(coverageIn(`${coverageText(first)}\n\n${coverageText(second)}`)).toEqual(both);
  });
});

describe("The windows of failovers", () => {
  const second = 1_000_000;

  it("last as long as the fault that brought them about, and a little longer", () => {
    const fault = { kind: "master-kill", heavy: true, from: 10 * second, to: 20 * second } as const;
    const windows = failoverWindows([{ at: 13 * second }], [fault]);
    expect(windows).toEqual([{ from: 8 * second, to: 21 * second }]);
    expect(isTouched(windows, 0, 7 * second)).toBe(false);
    expect(isTouched(windows, 20 * second, 30 * second)).toBe(true);
  });

  it("last until the old master is a replica where it came back before it was replaced", () => {
    const fault = { kind: "restart", heavy: true, from: 10 * second, to: 12.6 * second } as const;
    expect(failoverWindows([{ at: 13 * second }], [fault])).toEqual([{ from: 8 * second, to: 22 * second }]);
  });

  it("are there for a failover that no fault was to bring about", () => {
    expect(failoverWindows([{ at: 13 * second }], [])).toEqual([{ from: 5 * second, to: 22 * second }]);
  });
});

describe("The smallest set of faults", () => {
  const options = runOptions(["--topology", "single", "--seconds", "600"]);

  it("is what the failure needs", async () => {
    const needed: FaultKind[] = ["cut-after", "restart"];
    const seconds: number[] = [];
    const smallest = await smallestFaults(options, async (run) => {
      seconds.push(run.seconds);
      return needed.every((kind) => run.only!.includes(kind));
    });
    expect(smallest!.sort()).toEqual(needed);
    expect(Math.max(...seconds)).toBe(60);
  });

  it("is looked for in a bounded number of runs, and is the smallest so far then", async () => {
    let runs = 0;
    const smallest = await smallestFaults(options, async (run) => {
      runs += 1;
      // Fails with most of the kinds only, whichever they are: nothing helps to make the set much smaller.
      return run.only!.length >= 9;
    });
    expect(runs).toBeLessThanOrEqual(20);
    expect(smallest!.length).toBeGreaterThanOrEqual(9);
  });

  it("is empty where it fails without faults, and unknown where it does not fail again", async () => {
    expect(await smallestFaults(options, async () => true)).toEqual([]);
    expect(await smallestFaults(options, async () => false)).toBeUndefined();
  });
});

describe("The options of the checker", () => {
  it("are refused where they cannot be used", () => {
    expect(() => runOptions(["--seconds", "0"])).toThrow("--seconds must be a whole number of 1 or more");
    expect(() => runOptions(["--topology", "ring"])).toThrow("--topology must be one of single, sentinel, cluster");
    expect(() => runOptions(["--plant", "bug"])).toThrow("--plant must be one of idempotence");
    expect(() => runOptions(["--topology", "single", "--faults", "slot-move"])).toThrow("--faults must be one of");
  });
});

describe("The table of several runs", () => {
  it("shows their figures side by side and together", () => {
    const zeros = Object.fromEntries(figureNames.map((name) => [name, 0])) as Record<FigureName, number>;
    const losses = { withoutWaitReplicas: 3, withWaitReplicas: 0 };
    const run = { ...zeros, seed: 1, seconds: 60, acknowledged: 1_000, failoverLosses: losses };
    const text = markdownTable([
      { ...run, topology: "single", faults: { restart: 2 } },
      { ...run, topology: "cluster", faults: { restart: 1, failover: 4 } },
    ]);
    expect(text).toMatch(/^\|\s+\| single, seed 1 \| cluster, seed 1 \| together \|\n\| -+ \|/);
    expect(text).toMatch(/\| acknowledged messages +\| +1,000 \| +1,000 \| +2,000 \|/);
    expect(text).toMatch(/\| – restart +\| +2 \| +1 \| +3 \|/);
  });
});
