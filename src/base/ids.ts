import * as crypto from "node:crypto";

/** The first `length` characters of the text's SHA-256 in base64url, six bits each. */
export function shortHash(text: string, length: number): string {
  return sha256(text).slice(0, length);
}

/** The one-shot function (Node.js 20.12 or later) takes at most half the time. */
const sha256: (text: string) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha256", text, "base64url")
    : (text) => crypto.createHash("sha256").update(text).digest("base64url");

/**
 * Returns a generator of UUIDs of version 7 (RFC 9562): milliseconds, counter, random bits.
 *
 * Ids of one generator are monotonic as text, also within a millisecond and when the clock goes back; ids of several
 * generators sort by their clocks.
 */
export function timeOrderedIds(): (milliseconds: number) => string {
  let lastTime = 0;
  let counter = 0;
  return (milliseconds) => {
    counter = milliseconds > lastTime ? 0 : counter + 1;
    lastTime = Math.max(lastTime, milliseconds);
    if (counter > 0xfff) {
      lastTime += 1;
      counter = 0;
    }
    const time = lastTime.toString(16).padStart(12, "0");
    const suffix = crypto.randomUUID().slice(19);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter.toString(16).padStart(3, "0")}-${suffix}`;
  };
}

const tokenBytes = 9;

/** Pool of random bytes: one call of the generator costs as much as a hundred tokens. */
const drawn = Buffer.alloc(tokenBytes * 128);
let used = drawn.length;

/** Returns a random string of 72 bits, in 12 characters. */
export function randomToken(): string {
  if (used === drawn.length) {
    crypto.randomFillSync(drawn);
    used = 0;
  }
  used += tokenBytes;
  return drawn.toString("base64url", used - tokenBytes, used);
}
