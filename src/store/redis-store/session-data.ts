import { noRecords } from "../contract/append-decision.js";
import { randomToken } from "../../base/ids.js";
import type { HeldTicket, HoldPlace, HoldRequest } from "../contract/session-reads.js";
import type { SessionRef, StoredKey } from "../contract/session-ref.js";
import { askText, type ScriptCall } from "../redis/script-runner.js";
import { type RedisCalls, acquireAndRead, extendExpiry, keepAlive } from "./holds.js";
import {
  releaseHoldScript,
  renewHoldScript,
  readStateScript,
  readWindowScript,
  releaseLeaseScript,
} from "../redis/lua/later-scripts.js";
import type { Script } from "../redis/script.js";
import { idHash } from "../redis/keys.js";
import { statsOf } from "../contract/session-data.js";
import type {
  SessionData,
  StoredPage,
  StoredPageRequest,
  StoredStats,
  StoredReduction,
  NewState,
  WholeState,
} from "../contract/session-data.js";
import { type SideWrite, sideWithPrefix } from "../contract/session-writes.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import { fieldsOf, isRecord, valueIn } from "../../conversation/messages/message.js";
import { pairsIn } from "../redis/thread-records.js";
import { usageFrom, usageText } from "../redis-lists/stored-details.js";

/** Data of sessions in Redis beside their logs: fields of `state`, and the lease, a separate key. */
export class RedisSessionData implements SessionData {
  readonly #calls: RedisCalls;

  constructor(calls: RedisCalls) {
    this.#calls = calls;
  }

  async readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>> {
    const call = { script: readStateScript, args: [askText(session), `side:${prefix}`], writes: false };
    const reply = (await this.#runOnState("readSide", session, call)) as unknown[];
    return reply[0] === "NONE" ? {} : wholeStateFrom(reply).side;
  }

  async writeSide(session: SessionRef, changes: SideWrite): Promise<boolean> {
    const request = { records: [], side: changes, ttlMs: changes.ttlMs };
    return (await this.#calls.append("writeSide", session, { request, plan: noRecords })) !== "stale";
  }

  async readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined> {
    const args = [...placeOf(request), request.limit];
    const reply = (await this.#read("readPage", session, readWindowScript, args)) as unknown[];
    if (reply[0] !== "PAGE") {
      return undefined;
    }
    const [from, to, base, start, next, damaged] = reply.slice(1, 7).map(Number) as FixedNumbers;
    const [head, records, epoch, rev, rounds] = reply.slice(7) as [string, string[], string, string, unknown];
    return { epoch, rev, records, from, to, base, start, next, rounds: Number(rounds), head, damaged: damaged === 1 };
  }

  async readStats(session: SessionRef): Promise<StoredStats | undefined> {
    const reply = (await this.#read("readStats", session, readStateScript, ["details"])) as unknown[];
    const [word, epoch, length] = reply;
    return word === "NONE" || (epoch === "" && Number(length) === 0) ? undefined : statsOf(wholeStateFrom(reply));
  }

  async acquireHold(session: SessionRef, request: HoldRequest): Promise<HoldPlace> {
    const keys = [this.#calls.placeOf(session).keys.state];
    return (await acquireAndRead(this.#calls, session, { take: request, keptView: undefined, wanted: [], keys }))
      .place!;
  }

  async renewHold(session: SessionRef, held: HeldTicket): Promise<boolean> {
    const call = { script: renewHoldScript, args: [held.ticket, String(held.holdMs)] };
    const [word, left] = (await this.#runOnState("renewHold", session, call)) as [unknown, unknown];
    if (word !== "HELD") {
      return false;
    }
    keepAlive(this.#calls, session, { held, left: Number(left) });
    return true;
  }

  async releaseHold(session: SessionRef, ticket: string): Promise<void> {
    await this.#runOnState("releaseHold", session, { script: releaseHoldScript, args: [ticket] });
  }

  async acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined> {
    const { runner, keys } = this.#calls.placeOf(session);
    const token = randomToken();
    const command = { verb: "set", args: [keys.lease, token, "NX", "PX", ttlMs] };
    const name = { operation: "acquireLease", sessionId: session.id };
    return (await runner.command(name, command, [keys.lease])) === null ? undefined : token;
  }

  async releaseLease(session: SessionRef, token: string): Promise<void> {
    const { runner, keys } = this.#calls.placeOf(session);
    const call = { script: releaseLeaseScript, keys: [keys.lease], args: [token], writes: true };
    await runner.run({ operation: "releaseLease", sessionId: session.id }, call);
  }

  extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean> {
    return extendExpiry(this.#calls, session, ttlMs);
  }

  #read(
    operation: string,
    session: SessionRef,
    script: Script,
    args: readonly (string | number)[] = [],
  ): Promise<unknown> {
    return this.#calls.script(operation, session, { script, args: [askText(session), ...args], writes: false });
  }

  #runOnState(
    operation: string,
    session: SessionRef,
    call: Pick<ScriptCall, "script" | "args"> & Partial<ScriptCall>,
  ): Promise<unknown> {
    const keys = [this.#calls.placeOf(session).keys.state];
    return this.#calls.script(operation, session, { keys, writes: true, ...call });
  }
}

type FixedNumbers = [from: number, to: number, base: number, start: number, next: number, damaged: number];

function placeOf({ before, after, around, since }: StoredPageRequest): [kind: string, place: string | number] {
  const id = around ?? since;
  if (id !== undefined) {
    return [around === undefined ? "since" : "around", idHash(id)];
  }
  return before !== undefined ? ["before", before] : after !== undefined ? ["after", after] : ["newest", ""];
}

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
