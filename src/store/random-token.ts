import { randomBytes } from "node:crypto";

/** A string that nobody has drawn before: 72 random bits. */
export function randomToken(): string {
  return randomBytes(9).toString("base64url");
}
