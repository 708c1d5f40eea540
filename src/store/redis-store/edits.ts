import { askText, firstScripts, runOnSession } from "../redis/script-runner.js";
import { rewrapKeyScript } from "../redis/lua/later-scripts.js";
import { keepsExpiry } from "../redis-lists/followed-lists.js";
import { noRecords, planAppend } from "../contract/append-decision.js";
import type {
  RebuildOptions,
  SessionEdits,
  SessionKeyState,
  AppendResult,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "../contract/session-writes.js";
import type { SessionRef, StoredKey } from "../contract/session-ref.js";
import type { RedisCalls } from "./holds.js";
import { rebuildSession } from "./rebuild-session.js";

/** Changes of stored records in Redis. */
export class RedisEdits implements SessionEdits {
  readonly #calls: RedisCalls;

  constructor(calls: RedisCalls) {
    this.#calls = calls;
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planAppend(session, request, this.#calls.limits);
    return this.#calls.append("replaceTail", session, { request, plan });
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    const write = { request: { records: [], cut: request }, plan: noRecords, ttlMs: keepsExpiry };
    return (await this.#calls.append("rewind", session, write)) === "stale" ? "stale" : "rewound";
  }

  async rebuild(
    session: SessionRef,
    identify: IdentifyRecord,
    { assigns = false }: RebuildOptions = {},
  ): Promise<void> {
    const { id } = session;
    const name = { operation: "rebuild", sessionId: id };
    const { keyPrefix } = this.#calls;
    const rebuild = { ...this.#calls.placeOf(session), keyPrefix, name, identify, assigns };
    await this.#calls.follow(session, {
      ttlMs: keepsExpiry,
      write: async () => this.#calls.noteOwner(id, await rebuildSession(rebuild)),
    });
    this.#calls.forget(id);
  }

  async readKey(session: SessionRef): Promise<SessionKeyState | undefined> {
    const { runner, keys } = this.#calls.placeOf(session);
    const { readEpochScript: script } = await firstScripts();
    const call = { script, keys: [keys.state], args: [askText(session)], writes: false };
    const reply = await runOnSession(runner, { operation: "readKey", sessionId: session.id }, call);
    const [, epoch, key, dek, isLeft] = reply as [string, string, string, string, unknown];
    return epoch === "" && Number(isLeft) === 0 ? undefined : { epoch, stored: key === "" ? undefined : { key, dek } };
  }

  async rewrapKey(session: SessionRef, { was, now }: { readonly was: StoredKey; readonly now: StoredKey }) {
    const { runner, keys } = this.#calls.placeOf(session);
    const args = [askText(session), `${was.key} ${was.dek}`, now.key, now.dek];
    const call = { script: rewrapKeyScript, keys: [keys.ids, keys.state], args, writes: true };
    const [word] = (await runOnSession(runner, { operation: "rewrapKey", sessionId: session.id }, call)) as unknown[];
    return word === "REWRAPPED";
  }
}
