import * as z from "zod/mini";
import { unknownReply, type CallName } from "../store/redis/errors.js";
import { runKeys, sessionKeys, type RunKeys } from "../store/redis/keys.js";
import type { RedisWire } from "../store/redis-store/redis-session-store.js";
import { stopWaitingScript } from "../store/redis/lua/later-scripts.js";
import { askText, runOnSession, sendAlone, type Command } from "../store/redis/script-runner.js";
import type { Script } from "../store/redis/script.js";
import type { KeyRing } from "../store/sealed/keys/key-ring.js";
import { SealedTexts } from "../store/sealed/sealed-texts.js";
import { refusalFrom, refuseOwner, sessionLabel } from "../store/contract/refusals.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import { addToRunScript, beginRunScript, checkSessionScript, endRunScript, lookRunScript } from "./lua/scripts.js";
import type { RunEnd } from "./run-log.js";
import { RecordError } from "../base/errors.js";
import { valueIn } from "../conversation/messages/message.js";
import { lazy } from "../base/options.js";
import type { Notice } from "./mailbox.js";

/** The facts of a run that are known when it begins. */
export interface RunMeta {
  readonly turnId: string;
  /** The process that produces it. */
  readonly instance: string;
  readonly owner?: string;
  /** The data key of its texts; left out where they are plain. */
  readonly key?: string | undefined;
  /** Tells calls of `begin` apart. */
  readonly call: string;
}

/** A run of a session as Redis has it. */
export interface StoredRun {
  readonly at: string;
  readonly meta: RunMeta;
  /** Undefined while it is under way. */
  readonly end: RunEnd | undefined;
}

/** An entry of a run: a batch of chunks as text, the mark that the rest was left out, or the end. */
export interface RunEntry {
  readonly batch: number;
  readonly kind: "d" | "t" | "e";
  readonly text: string;
  /** The number of the last batch; only the end has it. */
  readonly last?: number;
}

/** With `waitReplicas`, the scripts that wait for replicas; what these lack of a run otherwise is written again. */
const awaited: ReadonlySet<Script> = new Set([beginRunScript, endRunScript]);
const lastBatch = "18446744073709551615";
/** The most entries that one read returns. */
export const entriesAtOnce = 500;

/** Milliseconds for which a run stays readable; people take their time for an answer. */
export const runTtlMs = { running: 3_600_000, waiting: 86_400_000, ended: 120_000 };

/** Runs of sessions in Redis: one stream for each session, whose explicit entry ids do the work of fences. */
export class RunStore {
  readonly #wire: RedisWire;
  readonly #sealed: SealedTexts;

  constructor(wire: RedisWire, ring: KeyRing | undefined) {
    this.#wire = wire;
    this.#sealed = new SealedTexts(ring, "run");
  }

  /** @throws StoreError `erased`; ConflictError `other_owner`. */
  async check(operation: string, session: SessionRef): Promise<void> {
    const { state } = sessionKeys(this.#wire.keyPrefix, session.id);
    const call = { script: checkSessionScript, keys: [state], args: [askText(session)], writes: false };
    await runOnSession(this.#wire.runner, { operation, sessionId: session.id }, call);
  }

  /** Begins a run and returns it; one that is under way is returned instead. */
  async begin(session: SessionRef, begun: RunMeta): Promise<StoredRun & { readonly isNew: boolean }> {
    const { key } = await this.#sealed.sealer(session.id);
    const meta = { ...begun, key };
    const [word, at, other] = await this.#script("startRun", session, beginRunScript, [
      JSON.stringify(meta),
      runTtlMs.running,
      "",
    ]);
    if (word === "BUSY") {
      const run = storedRun(session, [at!, other!, ""]);
      refuseOwner(session, run.meta.owner);
      return { ...run, isNew: false };
    }
    return { at: at!, meta, end: undefined, isNew: true };
  }

  /** Begins the same run again where Redis lost it; false if it has ended, or a newer one has begun. */
  async beginAgain(session: SessionRef, { at, meta }: StoredRun): Promise<boolean> {
    const args = [JSON.stringify(meta), runTtlMs.running, at];
    const [word] = await this.#script("startRun", session, beginRunScript, args);
    return word === "BEGUN";
  }

  /** Ends a run behind what is there of it; returns the end that counts, or undefined where nothing of it is left. */
  async end(session: SessionRef, at: string, end: RunEnd): Promise<RunEnd | undefined> {
    const counts = await this.endBehind(session, at, end, "");
    return typeof counts === "object" ? counts : undefined;
  }

  /**
   * Ends a run behind its last entry. Returns the end that counts; how many entries Redis has, where it lost some; or
   * `gone`, where nothing of the run is left.
   */
  async endBehind(session: SessionRef, at: string, end: RunEnd, last: number | ""): Promise<RunEnd | number | "gone"> {
    const ttl = end.state === "waiting" ? runTtlMs.waiting : runTtlMs.ended;
    const args = [at, JSON.stringify(end), ttl, last];
    const [word, detail] = await this.#script("endRun", session, endRunScript, args);
    if (word === "ENDED") {
      return runEndIn(detail, session.id);
    }
    return word === "BEHIND" ? Number(detail) : "gone";
  }

  /** The newest run of a session. @throws ConflictError `other_owner`. */
  async look(operation: string, session: SessionRef): Promise<StoredRun | undefined> {
    const [word, at, meta, end] = await this.#script(operation, session, lookRunScript, []);
    if (word !== "RUN") {
      return undefined;
    }
    const run = storedRun(session, [at!, meta!, end!]);
    refuseOwner(session, run.meta.owner);
    return run;
  }

  /** The facts of a run that is not the newest one. */
  async metaOf(session: SessionRef, at: string): Promise<RunMeta | undefined> {
    const [first] = await this.#range(session, `${at}-0`, `${at}-0`, 1);
    return first && runMetaIn(first[1][1], session.id);
  }

  /**
   * Adds an entry behind the one before it, and returns how many Redis has then: fewer where it lost some. `gone`: it
   * has lost the run; `late`: the run has ended, or a newer one has begun. A repetition adds nothing.
   */
  async add(session: SessionRef, at: string, entry: RunEntry): Promise<number | "gone" | "late"> {
    const args = [at, entry.batch, entry.kind, entry.text];
    const [word, last] = await this.#script("addToRun", session, addToRunScript, args);
    return word === "ADDED" ? Number(last) : word === "GONE" ? "gone" : "late";
  }

  /** Entries of a run from a batch on, or its end only. */
  async read(session: SessionRef, at: string, from: number | "end"): Promise<RunEntry[]> {
    const first = `${at}-${from === "end" ? lastBatch : from}`;
    const entries = await this.#range(session, first, `${at}-${lastBatch}`, entriesAtOnce);
    return entries.map(([id, [kind, text, , last]]) => ({
      batch: Number(id.slice(id.indexOf("-") + 1)),
      kind: kind as RunEntry["kind"],
      text: text!,
      ...(last !== undefined && { last: Number(last) }),
    }));
  }

  /** Stops the starts that wait for the run of a session, of a turn or all; returns their names in the queue. */
  async stopWaiting(session: SessionRef, turnId = ""): Promise<string[]> {
    const call = { script: stopWaitingScript, keys: [this.#keys(session).queue], args: [turnId], writes: true };
    const [, ...names] = (await this.#wire.runner.run(
      { operation: "stopRun", sessionId: session.id },
      call,
    )) as string[];
    return names;
  }

  /** The ticket that holds a session. */
  async ticketOf({ id }: SessionRef): Promise<string | undefined> {
    const args = [sessionKeys(this.#wire.keyPrefix, id).state, "holder"];
    const holder = (await this.#send("endRun", { id }, { verb: "hget", args })) as string | null;
    return holder?.split(" ")[0];
  }

  /** Lets a run that takes long live on, and what was said to it. */
  async prolong(session: SessionRef): Promise<void> {
    const { run, steers } = this.#keys(session);
    const prolonged = [run, steers].map((key) =>
      this.#send("prolongRun", session, { verb: "pexpire", args: [key, runTtlMs.running] }),
    );
    await Promise.all(prolonged);
  }

  /** Seals a text of a run for its place with the key of the run; where that has none, the text stays plain. */
  async seal({ id }: SessionRef, { key }: RunMeta, place: string, text: string): Promise<string> {
    return key === undefined ? text : (await this.#sealed.sealer(id, key)).seal(text, "", place);
  }

  /** Seals a text by itself, whose key stands behind it. */
  async sealAlone({ id }: SessionRef, place: string, text: string): Promise<string> {
    const { key, seal } = await this.#sealed.sealer(id);
    return key === undefined ? text : `${seal(text, "", place)}\n${key}`;
  }

  /** Opens a text with its key, or that behind it. @throws EncryptionError `unknown_key` and `wrong_key`. */
  async open({ id }: SessionRef, place: string, stored: string, key?: string): Promise<string> {
    const [text = "", own = ""] = stored.split("\n");
    return (await this.#sealed.opener(id, [text], key ?? own))(text, "", place);
  }

  #keys(session: SessionRef): RunKeys {
    return runKeys(this.#wire.keyPrefix, session.id);
  }

  async #script(
    operation: string,
    session: SessionRef,
    script: Script,
    args: readonly (string | number)[],
  ): Promise<[word: string, ...rest: (string | undefined)[]]> {
    const name: CallName = { operation, sessionId: session.id };
    const call = { script, keys: [this.#keys(session).run], args, writes: awaited.has(script) };
    const reply = await this.#wire.runner.run(name, call);
    if (!Array.isArray(reply) || typeof reply[0] !== "string") {
      throw unknownReply(name);
    }
    const refusal = refusalFrom(reply[0], undefined, name);
    if (refusal !== undefined) {
      throw refusal;
    }
    return reply as [string, ...string[]];
  }

  async #range(session: SessionRef, from: string, to: string, most: number): Promise<[string, string[]][]> {
    const args = [this.#keys(session).run, from, to, "COUNT", most];
    return (await this.#send("readRun", session, { verb: "xrange", args })) as [string, string[]][];
  }

  #send(operation: string, { id }: SessionRef, command: Command): Promise<unknown> {
    return this.#wire.runner.send({ operation, sessionId: id }, (client) => sendAlone(client, command));
  }
}

function storedRun({ id }: SessionRef, [at, meta, end]: readonly [at: string, meta: string, end: string]): StoredRun {
  return { at, meta: runMetaIn(meta, id), end: end === "" ? undefined : runEndIn(end, id) };
}

const metaSchema = lazy(() =>
  z.object({
    ...{ turnId: z.string(), instance: z.string(), call: z.string() },
    ...{ owner: z.optional(z.string()), key: z.optional(z.string()) },
  }),
);
const endSchema = lazy(() =>
  z.object({
    state: z.enum(["waiting", "done", "stopped", "failed", "lost"]),
    error: z.optional(z.string()),
  }),
);
const letterSchema = lazy(() =>
  z.object({
    kind: z.enum(["follow", "leave", "stop", "news", "over"]),
    ...{ at: z.string(), sessionId: z.string(), from: z.string() },
  }),
);

/** The facts of a run, from their text. @throws RecordError `corrupt` */
export function runMetaIn(text: unknown, sessionId: string): RunMeta {
  return metaSchema().safeParse(jsonIn(text)).data ?? unreadable(sessionId);
}

/** The end of a run, from its text. @throws RecordError `corrupt` */
export function runEndIn(text: unknown, sessionId: string): RunEnd {
  return endSchema().safeParse(jsonIn(text)).data ?? unreadable(sessionId);
}

/** The notices in a text of the mail. Notices are hints, so those that cannot be read are left out. */
export function noticesIn(text: unknown): Notice[] {
  const notices = jsonIn(text);
  return (Array.isArray(notices) ? notices : []).flatMap((notice) => letterSchema().safeParse(notice).data ?? []);
}

function jsonIn(text: unknown): unknown {
  return typeof text === "string" ? valueIn(text) : undefined;
}

function unreadable(sessionId: string): never {
  throw new RecordError(
    `The run of ${sessionLabel(sessionId)} in Redis cannot be read. It expires by itself within a day.`,
    { code: "corrupt" },
  );
}
