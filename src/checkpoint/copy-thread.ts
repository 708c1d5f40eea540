import { ConflictError } from "../base/errors.js";
import type { SaverParts } from "./saver-parts.js";
import type { SealedTexts } from "../sealed/sealed-texts.js";
import { damagedThread, threadLabel } from "./thread-errors.js";
import type { TextKind } from "../redis/reseal-texts.js";
import { changedField } from "../redis/thread-records.js";
import type { WholeThread } from "./thread-store.js";

/**
 * Copies a consistent snapshot of a thread: checkpoints, writes and items. Returns false if the thread does not exist.
 *
 * The copy is owned by the owner of the thread, or else of the session of the same id.
 *
 * Encrypted texts are bound to their thread, so they are decrypted and encrypted again.
 *
 * @throws ConflictError `exists`; StoreError `damaged`.
 */
export async function copyThread(from: string, to: string, { store, sealed }: SaverParts): Promise<boolean> {
  const whole = await store.readWhole(from);
  const { items, fields, members } = whole;
  if (items.length + fields.length + members.length === 0) {
    return false;
  }
  if (!isComplete(whole)) {
    throw damagedThread("copyThread", from);
  }
  const { items: texts, fields: records } = await sealedAnew(whole, from, to, sealed);
  const isNamed = fields.some(([name]) => name === "owner");
  const owner = isNamed ? undefined : await store.ownerOfSession(from);
  const copy = {
    items: texts,
    fields: owner === undefined ? records : [...records, ["owner", owner] as const],
    members,
  };
  if (!(await store.writeWhole(to, copy))) {
    throw new ConflictError(`There is a ${threadLabel(to)}; nothing was copied. Copy to an id that is not in use.`, {
      code: "exists",
      sessionId: to,
    });
  }
  return true;
}

/** The texts of a thread, sealed for another one; plain ones stay. */
async function sealedAnew({ items, fields }: WholeThread, from: string, to: string, sealed: SealedTexts) {
  const seal = await sealed.sealer(to);
  const moved = async (text: string, kind: TextKind, member: string) => {
    return text.startsWith("~") ? seal((await sealed.opener(from, [text]))(text, kind, member), kind, member) : text;
  };
  return {
    items: await Promise.all(items.map((text) => moved(text, "item", ""))),
    fields: await Promise.all(
      fields.map(async ([name, value]) => [name, (await changedField(name, value, moved)) ?? value] as const),
    ),
  };
}

function isComplete({ items, fields, members }: WholeThread): boolean {
  const { base, next, count } = Object.fromEntries(fields.filter(([name]) => !name.includes("\0")));
  return items.length === Number(next) - Number(base) && members.length === Number(count);
}
