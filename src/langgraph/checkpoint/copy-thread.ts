import { ConflictError } from "../../base/errors.js";
import type { SaverParts } from "./saver-parts.js";
import { damagedThread, threadLabel } from "../../store/redis/thread-errors.js";
import { withTexts, fieldIn, isWhole } from "../../store/redis/whole-thread.js";

/**
 * Copies a consistent snapshot of a thread: checkpoints, writes and items. Returns false if the thread does not exist.
 *
 * The copy is owned by the owner of the thread, or else of the session of the same id.
 *
 * Encrypted texts are bound to their thread and its data key; those of the copy, also plain ones, get another key.
 *
 * @throws ConflictError `exists`; StoreError `damaged`.
 */
export async function copyThread(from: string, to: string, { store, sealed }: SaverParts): Promise<boolean> {
  const whole = await store.readWhole(from);
  if (whole.items.length + whole.fields.length + whole.members.length === 0) {
    return false;
  }
  if (!isWhole(whole)) {
    throw damagedThread("copyThread", from);
  }
  const [{ key, seal }, owner] = await Promise.all([
    sealed.sealer(to),
    fieldIn(whole, "owner") ?? store.ownerOfSession(from),
  ]);
  const moved = await withTexts(whole, async (text, kind, name) => {
    return seal((await sealed.opener(from, [text], whole.keys ?? ""))(text, kind, name), kind, name);
  });
  const named = moved.fields.filter(([name]) => name !== "owner");
  const keys = key && `${key}\n`;
  const copy = { ...moved, keys, fields: owner === undefined ? named : [...named, ["owner", owner] as const] };
  if (!(await store.writeWhole(to, copy))) {
    throw new ConflictError(`There is a ${threadLabel(to)}; nothing was copied. Copy to an id that is not in use.`, {
      code: "exists",
      sessionId: to,
    });
  }
  return true;
}
