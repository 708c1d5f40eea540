// One of several client processes: turns (a read and a write of two) as fast as they go, several at once, until the
// time is up.
import { randomUUID } from "node:crypto";
import { openContenders, type Contender } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

/** What the parent asks for. */
export interface Task {
  readonly name: string;
  readonly milliseconds: number;
}

const atOnce = 8;
const turnsPerSession = 10;

const [url, before] = process.argv.slice(2);
const contenders = openContenders(url!);
for (const contender of contenders) {
  await play(contender, () => true, Number(before));
}
process.on("message", (task: Task) => void measure(task));
process.once("disconnect", () => process.exit());
process.send!("ready");

async function measure({ name, milliseconds }: Task): Promise<void> {
  const contender = contenders.find((one) => one.name === name)!;
  const until = performance.now() + milliseconds;
  const counts = await Promise.all(
    Array.from({ length: atOnce }, () => play(contender, () => performance.now() < until)),
  );
  process.send!(counts.reduce((sum, count) => sum + count, 0));
}

async function play(contender: Contender, goesOn: () => boolean, limit = Infinity): Promise<number> {
  let turns = 0;
  while (goesOn() && turns < limit) {
    const history = contender.history(randomUUID());
    for (let turn = 0; turn < turnsPerSession && goesOn(); turn += 1) {
      await history.getMessages();
      await history.addMessages(conversation(2, 2 * turn));
      turns += 1;
    }
  }
  return turns;
}
