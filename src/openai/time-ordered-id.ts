import { randomBytes } from "node:crypto";

let lastTime = 0;
let counter = 0;

/**
 * A UUID (version 7) whose text orders by time: those of this process in the order in which they were made, also within one
 * millisecond and when the clock goes back; those of several processes as exactly as their clocks agree.
 */
export function timeOrderedId(milliseconds: number): string {
  counter = milliseconds > lastTime ? 0 : counter + 1;
  lastTime = Math.max(lastTime, milliseconds);
  if (counter > 0xfff) {
    lastTime += 1;
    counter = 0;
  }
  const time = lastTime.toString(16).padStart(12, "0");
  const random = randomBytes(8);
  random[0] = (random[0]! & 0x3f) | 0x80;
  const rest = random.toString("hex");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${rest.slice(0, 4)}-${rest.slice(4)}`;
}
