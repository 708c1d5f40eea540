import { randomFillSync } from "node:crypto";

const tokenBytes = 9;

/** Drawn for many tokens at once: each call of the generator costs as much as a hundred of them. */
const drawn = Buffer.alloc(tokenBytes * 128);
let used = drawn.length;

/** A string that nobody has drawn before: 72 random bits. */
export function randomToken(): string {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += tokenBytes;
  return drawn.toString("base64url", used - tokenBytes, used);
}
