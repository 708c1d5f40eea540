import { randomToken } from "../../base/ids.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import { fieldsOf, isRecord, valueIn } from "../../conversation/messages/values.js";
import type { StoredReduction } from "../contract/session-pages.js";
import type { NewState, WholeState } from "../contract/copies.js";
import { sideWithPrefix } from "../contract/side-fields.js";
import type { StoredKey } from "../contract/writer-keys.js";
import { pairsIn } from "../redis/pairs.js";
import { usageFrom, usageText } from "../redis-lists/stored-details.js";

const sidePrefix = "side:";

/** Converts a reply of read-state.lua; fields that were not wanted count as missing. */
export function wholeStateFrom(reply: readonly unknown[]): WholeState {
  const [, epoch, length, isDamaged, expires, list, key] = reply;
  const fields = new Map(pairsIn(list as readonly string[]));
  const base = numberIn(fields.get("base")) ?? 0;
  const next = numberIn(fields.get("next"));
  const [usage, tokens] = [fields.get("usage"), numberIn(fields.get("tokens"))];
  const names = (["title", "metadata"] as const).filter((name) => fields.has(name));
  return withoutUndefined<EachOf<WholeState>>({
    ...{ epoch: String(epoch), cut: fields.get("cut") ?? "", base, next: next ?? base + Number(length) },
    messages: Number(length),
    start: numberIn(fields.get("start")) ?? base,
    rounds: numberIn(fields.get("rounds")) ?? 0,
    head: fields.get("head") ?? "",
    headCount: numberIn(fields.get("headCount")) ?? 0,
    owner: fields.get("owner"),
    label: Object.fromEntries(names.map((name) => [name, fields.get(name)!])),
    hasLabel: fields.has("label"),
    usage: usage === undefined ? undefined : usageFrom(usage),
    createdAt: numberIn(fields.get("created")),
    updatedAt: numberIn(fields.get("updated")),
    expiresAt: expires === "" ? undefined : Number(expires),
    tokens,
    counter: tokens === undefined ? undefined : (fields.get("counter") ?? ""),
    reductions: reductionsIn(fields.get("reductions")),
    reduced: numberIn(fields.get("reduced")) ?? 0,
    side: sideIn(fields),
    damaged: Number(isDamaged) === 1,
    isSealed: key !== "",
    sum: fields.get("sum"),
  });
}

/** Fields and values of `state` for a new session, without its epoch. */
export function stateFields(
  state: NewState,
  { key, ...ends }: { readonly key: StoredKey | undefined; readonly base: number; readonly next: number },
): string[] {
  const { createdAt, updatedAt, owner, label, usage, reductions, reduced } = state;
  const side = Object.entries(state.side).map(([name, text]) => [sidePrefix + name, text]);
  const fields: Record<string, string | number | undefined> = {
    ...viewFields(state, ends),
    ...{ created: createdAt, updated: updatedAt, owner, ...key },
    ...{ title: label.title, metadata: label.metadata },
    label: state.hasLabel ? randomToken() : undefined,
    usage: usage && usageText(usage),
    reductions: reductions.map((one) => JSON.stringify(one)).join("\n") || undefined,
    reduced: reduced || undefined,
  };
  const pairs = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]));
  return [...pairs, ...side.flat()];
}

function viewFields(
  state: NewState,
  { base, next }: { readonly base: number; readonly next: number },
): Record<string, string | number | undefined> {
  const { start, rounds, head, headCount, tokens, counter } = state;
  return {
    ...(next > 0 && { base, next, start, rounds }),
    ...(head !== "" && { head, headCount }),
    ...(tokens !== undefined && counter !== undefined && { tokens, counter }),
  };
}

type Fields = ReadonlyMap<string, string>;

function sideIn(fields: Fields): Record<string, string> {
  const side = [...fields].filter(([name]) => name.startsWith(sidePrefix));
  return sideWithPrefix(
    side.map(([name, text]) => [name.slice(sidePrefix.length), text] as const),
    "",
  );
}

/** Undefined for an invalid number, in a damaged session. */
function numberIn(text: string | undefined): number | undefined {
  const number = Number(text ?? NaN);
  return Number.isFinite(number) && number >= 0 ? number : undefined;
}

/** Parses the field `reductions`; skips a line that is no reduction, in a damaged session. */
export function reductionsIn(lines = ""): StoredReduction[] {
  return lines.split("\n").map(valueIn).filter(isReduction);
}

function isReduction(value: unknown): value is StoredReduction {
  const { at, start, head, before, after } = fieldsOf(value);
  return [at, start, head].every(Number.isFinite) && isRecord(before) && isRecord(after);
}
