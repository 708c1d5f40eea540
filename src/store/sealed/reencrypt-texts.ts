import { maxTries } from "../../base/bounds.js";
import { countOf, foundPieces, reencryptionOf, type FoundPiece, type KeyedHash } from "../redis-lists/kinds.js";
import { keyOf, sha1 } from "../redis/keys.js";
import type { CallName } from "../redis/errors.js";
import { sealTextsScript, swapKeysScript } from "../redis/lua/later-scripts.js";
import type { KeyScan } from "../redis/scan-keys.js";
import { plainText } from "../contract/refusals.js";
import { keyParts } from "../contract/session-ref.js";
import type { KeyRing, MasterKey } from "./keys/key-ring.js";
import { SealedTexts } from "./sealed-texts.js";

/** Result for a piece of data. */
export interface Reencrypted {
  /** 1 for a session, thread or run; the number of items. */
  readonly count: number;
  /** True where its data keys were wrapped with the current key, or replaced. */
  readonly rewrapped: boolean;
  /** Plain texts that were sealed. */
  readonly sealed: number;
  /** True where it still needs another key, or holds plain text. */
  readonly isLeft: boolean;
}

/** Most texts that one call seals. */
const sealedAtOnce = 100;

/**
 * Wraps the data keys of everything of a memory but its sessions with the current master key, seals plain texts, and
 * says of each piece what came of it, or which error it met. Without a current key, what has a data key is left.
 */
export async function* reencryptOthers(
  scan: KeyScan,
  ring: KeyRing,
): AsyncGenerator<FoundPiece & (Reencrypted | { readonly error: unknown })> {
  const master = await ring.current("");
  for await (const page of foundPieces(scan)) {
    for (const piece of page) {
      const how = reencryptionOf(piece.kind);
      if (typeof how === "function") {
        const keys = await how(scan, piece.id);
        const isLeft = keys.some((key) => keyParts({ key, dek: "" }).masterId !== (master?.id ?? ""));
        yield { ...piece, count: 1, rewrapped: false, sealed: 0, isLeft };
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
  readonly master: MasterKey | undefined;
}

async function rewrap({ scan, ring, master }: Work, piece: FoundPiece, how: KeyedHash): Promise<Reencrypted> {
  const isItem = piece.kind === "item";
  const id = isItem ? "" : piece.id;
  const texts = new SealedTexts(ring, isItem ? "item" : "thread", scan);
  const count = await countOf(scan, piece);
  const name = { operation: "reencrypt", sessionId: id, subject: isItem ? "store" : "thread" } as const;
  const none = { sealed: 0, isLeft: false };
  if (master === undefined) {
    return { count, rewrapped: false, sealed: 0, isLeft: (await texts.stored(id)) !== "" };
  }
  const { sealed, isLeft } = count > 0 ? await sealPlain({ scan, ring, name, texts }, piece, how) : none;
  const call = { script: swapKeysScript, keys: [keyOf(scan.keyPrefix, how.part, piece.id)], writes: true };
  for (let tries = 1; tries <= maxTries.write; tries += 1) {
    const was = await texts.stored(id);
    const { keys, error } = await texts.rewrapped(id, was, master);
    if (was === keys || String(await scan.runner.run(name, { ...call, args: [was, keys] })) === "SWAPPED") {
      if (error !== undefined) {
        throw error;
      }
      return { count, rewrapped: was !== keys, sealed, isLeft };
    }
  }
  return { count, rewrapped: false, sealed, isLeft: true };
}

/** Seals plain texts, page by page, until a pass finds none: others may write behind a pass. */
async function sealPlain(
  { scan, ring, name, texts }: Pick<Work, "scan" | "ring"> & { readonly name: CallName; readonly texts: SealedTexts },
  { id }: FoundPiece,
  how: KeyedHash,
): Promise<Pick<Reencrypted, "sealed" | "isLeft">> {
  let sealed = 0;
  for (let pass = 1; pass <= maxTries.write; pass += 1) {
    const { key, seal } = await texts.sealer(name.sessionId);
    let count = 0;
    for await (const { part, texts: page } of how.plain(scan, id, seal)) {
      count += page.length;
      if (ring.refusesPlain && page.length > 0) {
        throw plainText(name.sessionId);
      }
      const keys = [...new Set([how.part, part])].map((one) => keyOf(scan.keyPrefix, one, id));
      for (let first = 0; first < page.length; first += sealedAtOnce) {
        const some = page.slice(first, first + sealedAtOnce);
        const args = [key!, ...some.flatMap(([field, stored, text]) => [field, sha1(stored), text])];
        const reply = await scan.runner.run(name, { script: sealTextsScript, keys, args, writes: true });
        sealed += Number((reply as unknown[])[1]);
      }
    }
    if (count === 0) {
      return { sealed, isLeft: false };
    }
  }
  return { sealed, isLeft: true };
}
