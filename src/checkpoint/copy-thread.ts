import { ConflictError } from "../base/errors.js";
import type { SaverParts } from "./saver-parts.js";
import type { SealedTexts, TextKind } from "./sealed-texts.js";
import { damagedThread, threadLabel } from "./thread-errors.js";
import { recordHead, writeRecords } from "./thread-records.js";
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
  const records = fields.flatMap(([name, value]) => (kindOf(name) === undefined ? [] : writeRecords(value)));
  const texts = [...items, ...records.map((record) => record.slice(recordHead(record).length))];
  const [open, seal] = await Promise.all([sealed.opener(from, texts), sealed.sealer(to)]);
  const moved = (text: string, kind: TextKind, member: string) =>
    text.startsWith("~") ? seal(open(text, kind, member), kind, member) : text;
  const movedRecord = (record: string, kind: TextKind, member: string) => {
    const head = recordHead(record);
    return head + moved(record.slice(head.length), kind, member);
  };
  const movedField = (name: string, value: string): string => {
    const kind = kindOf(name);
    const own = kind === "checkpoint" ? [value] : writeRecords(value);
    return kind === undefined ? value : own.map((record) => movedRecord(record, kind, name.slice(1))).join("\n");
  };
  return {
    items: items.map((text) => moved(text, "item", "")),
    fields: fields.map(([name, value]) => [name, movedField(name, value)] as const),
  };
}

/** The kind of what a field holds; undefined for what is known of the thread itself. */
function kindOf(name: string): Exclude<TextKind, "item"> | undefined {
  const kinds = { c: "checkpoint", w: "writes" } as const;
  return name.includes("\0") ? kinds[name[0] as "c" | "w"] : undefined;
}

function isComplete({ items, fields, members }: WholeThread): boolean {
  const { base, next, count } = Object.fromEntries(fields.filter(([name]) => !name.includes("\0")));
  return items.length === Number(next) - Number(base) && members.length === Number(count);
}
