/** A process of an application: it writes and reads sessions, and notes what it asked and what it was told. */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { clock } from "../journal/entries.js";
import { JournalWriter } from "../journal/journal-writer.js";
import { groupsOf, sessionPlan, type SessionPlan } from "../plan/session-plan.js";
import { randomOf } from "../../testkit/random.js";
import type { ClientTask, Span } from "./client-task.js";
import { openAnswers, type AnswerDoor } from "./answer-door.js";
import { openDoors, type Doors } from "./doors.js";
import { Lane } from "./lane.js";
import { openStores } from "./open-stores.js";
import { operations } from "./operations/all-operations.js";
import type { Operation } from "./operations/operation.js";

const task = JSON.parse(process.argv[2]!) as ClientTask;
const { workload, incarnation } = task;
const journal = JournalWriter.toFile(task.journal);
const stores = openStores(task.address);
const doorsByKind = new Map<string, Doors>();
let answerDoor: AnswerDoor | undefined;
const answers = () => (answerDoor ??= openAnswers(stores.plain, journal));
let turns = 0;

process.send!("ready");
const [{ begin, end }] = (await once(process, "message")) as [Span];
await Promise.all(groupsOf(workload, task.process).map((group) => work(group)));
await Promise.race([drain(), pause(15_000)]);
process.exit(0);

async function drain(): Promise<void> {
  await Promise.all([...doorsByKind.values()].map(({ memory }) => memory.drain()));
  await answerDoor?.memory.close();
  await stores.close();
}

/** Works on one session after another until the time is up. */
async function work(group: number): Promise<void> {
  for (let step = 0; clock() < end;) {
    const round = roundNow();
    const plan = sessionPlan(workload, group, round);
    const lane = new Lane(plan, doorsFor(plan), {
      journal,
      process: task.process,
      name: () => `${task.process}.${incarnation}.${(turns += 1)}`,
    });
    for (; roundNow() === round && clock() < end; step += 1) {
      const random = randomOf(workload.seed, "step", task.process, incarnation, group, step);
      const possible = lane.isErased ? operations.filter(({ isRead }) => isRead) : operations;
      await random.weighted(possible, (operation) => weightOf(operation, plan)).run(lane, random);
      await pause(random.between(0, task.thinkMs));
    }
    lane.close();
  }
}

function weightOf({ name, weight }: Operation, plan: SessionPlan): number {
  return workload.focus?.weights?.[name] ?? weight(plan);
}

function roundNow(): number {
  return Math.floor((clock() - begin) / (workload.sessionMs * 1_000));
}

function doorsFor(plan: SessionPlan): Doors {
  const { reducer, reduceWhen, waits, retention, persist, isEncrypted, holds } = plan;
  const kind = [reducer, reduceWhen, waits, retention, persist, isEncrypted, holds].join(" ");
  const known =
    doorsByKind.get(kind) ?? openDoors(plan, { store: waits ? stores.waiting : stores.plain, journal, answers });
  doorsByKind.set(kind, known);
  return known;
}
