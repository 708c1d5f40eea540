import { maxTries } from "../base/tries.js";
import { countOf, foundPieces, reencryptionOf, type FoundPiece, type KeyedHash } from "../redis-lists/kinds.js";
import { keyOf } from "../redis/data-parts.js";
import { swapKeysScript } from "../redis/lua/later-scripts.js";
import type { KeyScan } from "../redis/scan-keys.js";
import { keyParts } from "../store/writer-keys.js";
import type { KeyRing, MasterKey } from "./keys/key-ring.js";
import { SealedTexts } from "./sealed-texts.js";

/** Result for a piece of data. */
export interface Reencrypted {
  /** 1 for a thread or a run; the number of items. */
  readonly count: number;
  /** True where its data keys were wrapped with the current key. */
  readonly rewrapped: boolean;
  /** True where it still needs another key, or holds plain text. */
  readonly isLeft: boolean;
}

/**
 * Wraps the data keys of everything of a memory but its sessions with the current master key, and says of each piece
 * what came of it, or which error it met.
 *
 * @throws ConfigurationError where the current key is `null`.
 */
export async function* reencryptOthers(
  scan: KeyScan,
  ring: KeyRing,
): AsyncGenerator<FoundPiece & (Reencrypted | { readonly error: unknown })> {
  const master = await ring.required("");
  for await (const page of foundPieces(scan)) {
    for (const piece of page) {
      const how = reencryptionOf(piece.kind);
      if (typeof how === "function") {
        const keys = await how(scan, piece.id);
        const isLeft = keys.some((key) => keyParts({ key, dek: "" }).masterId !== master.id);
        yield { ...piece, count: 1, rewrapped: false, isLeft };
      } else if (how !== undefined) {
        yield {
          ...piece,
          ...(await rewrap({ scan, ring, master }, piece, how).catch((error: unknown) => ({ error }))),
        };
      }
    }
  }
}

interface Work {
  readonly scan: KeyScan;
  readonly ring: KeyRing;
  readonly master: MasterKey;
}

async function rewrap({ scan, ring, master }: Work, piece: FoundPiece, how: KeyedHash): Promise<Reencrypted> {
  const isItem = piece.kind === "item";
  const id = isItem ? "" : piece.id;
  const texts = new SealedTexts(ring, isItem ? "item" : "thread", scan);
  const count = await countOf(scan, piece);
  const hasPlain = count > 0 && (await how.hasPlain(scan, piece.id));
  const name = { operation: "reencrypt", sessionId: id, subject: isItem ? "store" : "thread" } as const;
  const call = { script: swapKeysScript, keys: [keyOf(scan.keyPrefix, how.part, piece.id)], writes: true };
  for (let tries = 1; tries <= maxTries.write; tries += 1) {
    const was = await texts.stored(id);
    const { keys, error } = await texts.rewrapped(id, was, master);
    if (was === keys || String(await scan.runner.run(name, { ...call, args: [was, keys] })) === "SWAPPED") {
      if (error !== undefined) {
        throw error;
      }
      return { count, rewrapped: was !== keys, isLeft: hasPlain };
    }
  }
  return { count, rewrapped: false, isLeft: true };
}
