// One of several client processes: turns (a read and a write of two) as fast as they go, several at once.
import { randomUUID } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { openContenders, type Contender } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

/** What the parent asks for: turns until the time is up, or so many. */
export interface Task {
  readonly name: string;
  readonly milliseconds?: number;
  readonly turns?: number;
}

/** What a process did. */
export interface Done {
  readonly turns: number;
  /** Microseconds of processor time. */
  readonly cpu: number;
  /** The longest time that the event loop stood still, in milliseconds. */
  readonly stopped: number;
}

const atOnce = 8;
const lengthBefore = 10;
const turnsPerSession = 30;

const [url, warmUp] = process.argv.slice(2);
const contenders = openContenders(url!);
for (const contender of contenders) {
  // One read opens the connection: @langchain/redis cannot begin with several.
  await contender.history("first").getMessages();
  await measure({ name: contender.name, milliseconds: Number(warmUp) });
}
process.on("message", (task: Task) => void measure(task).then((done) => process.send!(done)));
process.once("disconnect", () => process.exit());
process.send!("ready");

async function measure({ name, milliseconds = Infinity, turns: most = Infinity }: Task): Promise<Done> {
  const contender = contenders.find((one) => one.name === name)!;
  const until = performance.now() + milliseconds;
  let turns = 0;
  const goesOn = () => turns < most && performance.now() < until && (turns += 1) > 0;
  const loop = monitorEventLoopDelay({ resolution: 1 });
  loop.enable();
  await pause(5);
  loop.reset();
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: Math.min(atOnce, most) }, () => play(contender, goesOn)));
  const { user, system } = process.cpuUsage(before);
  loop.disable();
  return { turns, cpu: user + system, stopped: loop.max / 1e6 };
}

/** Plays sessions of 10 messages and more, to which each turn adds two. */
async function play(contender: Contender, goesOn: () => boolean): Promise<void> {
  for (let turn = 0, id = ""; goesOn(); turn += 1) {
    if (turn % turnsPerSession === 0) {
      id = randomUUID();
      await contender.fill(id, conversation(lengthBefore));
    }
    const history = contender.history(id);
    await history.getMessages();
    await history.addMessages(conversation(2, lengthBefore + 2 * (turn % turnsPerSession)));
  }
}
