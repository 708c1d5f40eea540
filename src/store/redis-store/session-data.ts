import { noRecords } from "../contract/append-decision.js";
import { randomToken } from "../../base/ids.js";
import type { HeldTicket, HoldPlace, HoldRequest } from "../contract/holds.js";
import type { SessionRef } from "../contract/session-ref.js";
import { askText, type ScriptCall } from "../redis/script-runner.js";
import type { RedisCalls } from "./calls.js";
import {
  releaseHoldScript,
  renewHoldScript,
  readStateScript,
  readWindowScript,
  releaseLeaseScript,
} from "../redis/lua/later-scripts.js";
import type { Script } from "../redis/script.js";
import { idHash } from "../redis/keys.js";
import type { SessionData } from "../contract/session-data.js";
import { statsOf, type StoredPage, type StoredPageRequest, type StoredStats } from "../contract/session-pages.js";
import type { SideWrite } from "../contract/side-fields.js";
import { acquireAndRead, extendExpiry, keepAlive } from "./holds.js";
import { wholeStateFrom } from "./whole-state.js";

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
