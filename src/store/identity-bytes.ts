import * as crypto from "node:crypto";
import type { RecordIdentity } from "./session-store.js";

/** Hexadecimal digits that stand for an id: 10 bytes of its SHA-256, enough that ten million messages of one session share none by chance. */
const idDigits = 20;

/** The first 10 bytes of the id's SHA-256. */
export function idHash(id: string): Buffer {
  return Buffer.from(idHex(id), "hex");
}

/** Hashes of ids, one after the other. */
export function packIds(ids: readonly string[]): Buffer {
  return Buffer.from(ids.map(idHex).join(""), "hex");
}

/** Per record 16 bytes: the id's hash and the digest. */
export function packIdentities(identities: readonly RecordIdentity[]): Buffer {
  return Buffer.from(identities.map(({ id, digest }) => idHex(id) + digest).join(""), "hex");
}

function idHex(id: string): string {
  return sha256(id).slice(0, idDigits);
}

/** The one-shot function takes a quarter of the time; Node.js has it from 20.12 on. */
const sha256: (text: string) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha256", text, "hex")
    : (text) => crypto.createHash("sha256").update(text).digest("hex");
