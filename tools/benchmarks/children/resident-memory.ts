// What one package holds in memory, alone in a process; started with --expose-gc.
import { randomUUID } from "node:crypto";
import { conversation } from "../setting/messages.js";
import { openContender, type History } from "../setting/contenders.js";

const [name, url, longSession, sessions] = process.argv.slice(2) as [string, string, string, string];

const contender = openContender(name, url);
const history = contender.history(randomUUID());
await history.addMessages(conversation(2));
await history.getMessages();
const afterTurn = resident();

const held: History[] = [];
const before = heap();
for (let index = 0; index < Number(sessions); index += 1) {
  const each = contender.history(`${name}-held-${index}-${randomUUID()}`);
  await each.addMessages(conversation(2));
  await each.getMessages();
  held.push(each);
}
const perHistory = (heap() - before) / held.length;

for (let read = 0; read < 20; read += 1) {
  await contender.history(longSession).getMessages();
}
const peak = process.resourceUsage().maxRSS / 1024;
process.send!({ afterTurn, perHistory, peak });
await contender.close();
process.disconnect();

function resident(): number {
  globalThis.gc!();
  return process.memoryUsage.rss() / 2 ** 20;
}

function heap(): number {
  globalThis.gc!();
  globalThis.gc!();
  return process.memoryUsage().heapUsed;
}
