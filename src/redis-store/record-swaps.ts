import { createHash } from "node:crypto";
import { randomToken } from "../store/random-token.js";
import type { RecordSwaps, SwapPass, SwapRequest } from "../store/record-swaps.js";
import type { SessionRef } from "../store/session-ref.js";
import { askOf, askText } from "../redis/ask.js";
import { fieldPairs } from "../redis/field-pairs.js";
import { idHash } from "../redis/id-hash.js";
import { sessionKeys } from "../redis/keys.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { beginSwapsScript, finishSwapsScript, swapRecordsScript } from "../redis/lua/scripts.js";
import { runOnSession } from "../redis/script-runner.js";

/** Replaces stored texts in Redis: one script for each call. */
export class RedisRecordSwaps implements RecordSwaps {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  async begin(session: SessionRef): Promise<SwapPass | undefined> {
    const name = { operation: "beginSwaps", sessionId: session.id };
    const call = { script: beginSwapsScript, keys: this.#keys(session), writes: true };
    const args = [askText(session), randomToken()];
    const reply = (await runOnSession(this.#runner, name, { ...call, args })) as unknown[];
    if (reply[0] !== "BEGUN") {
      return undefined;
    }
    const [, epoch, mark, list] = reply as [string, string, string, string[]];
    return { epoch, mark, fields: Object.fromEntries(fieldPairs(list)) };
  }

  async swap(session: SessionRef, { epoch, records, fields = [] }: SwapRequest): Promise<number> {
    const request = {
      ...askOf(session),
      epoch,
      records: records.map(({ position, was, identity }) => ({
        ...{ position, was: sha1(was) },
        ...(identity && { hash: idHash(identity.id), digest: identity.digest }),
      })),
      fields: fields.map(({ name, was }) => ({ name, was: sha1(was) })),
    };
    const args = [JSON.stringify(request), ...records.map(({ text }) => text), ...fields.map(({ text }) => text)];
    const call = { script: swapRecordsScript, keys: this.#keys(session), args, writes: true };
    const name = { operation: "swapRecords", sessionId: session.id };
    const [, swapped] = (await runOnSession(this.#runner, name, call)) as unknown[];
    return Number(swapped);
  }

  async finish(session: SessionRef, { epoch, mark }: SwapPass, key: string): Promise<boolean> {
    const keys = [sessionKeys(this.#keyPrefix, session.id).state];
    const call = { script: finishSwapsScript, keys, args: [askText(session), epoch, mark, key], writes: true };
    const name = { operation: "finishSwaps", sessionId: session.id };
    const [word] = (await runOnSession(this.#runner, name, call)) as unknown[];
    return word === "FINISHED";
  }

  #keys({ id }: SessionRef): string[] {
    const { log, ids, state } = sessionKeys(this.#keyPrefix, id);
    return [log, ids, state];
  }
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
