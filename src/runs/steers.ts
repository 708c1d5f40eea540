import { randomUUID } from "node:crypto";
import { coerceMessageLikeToMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import { ConfigurationError, ConflictError, MemoryError, StoreError } from "../base/errors.js";
import { shortHash } from "../base/ids.js";
import { changeMessage } from "../conversation/messages/change-message.js";
import { roleOf } from "../conversation/messages/message.js";
import { runKeys } from "../store/redis/keys.js";
import type { Script } from "../store/redis/script.js";
import type { RedisWire } from "../store/redis-store/redis-session-store.js";
import { sessionLabel } from "../store/contract/refusals.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import type { SaidToRun } from "../memory/turns/turn-setting.js";
import { ChunkReader, ChunkWriter } from "./chunk-text.js";
import { addSteerScript, settleSteersScript, takeSteersScript } from "./lua/scripts.js";
import { runTtlMs, type RunStore } from "./run-store.js";

/** The most messages that a run accepts. */
const mostSteers = 100;
const nameLength = 16;

/** A message as Redis has it. */
interface Steer {
  readonly name: string;
  readonly message: BaseMessage;
}

/** The user message of a call of `steer`, with an id. @throws ConfigurationError for a message of another role. */
export function steerMessage(user: string, like: BaseMessageLike | undefined): BaseMessage {
  const message = like === undefined ? undefined : coerceMessageLikeToMessage(like);
  if (message === undefined || roleOf(message) !== "human") {
    throw new ConfigurationError("message", `${user}: option "message" must be a user message.`);
  }
  return message.id === undefined ? changeMessage(message, { id: randomUUID() }) : message;
}

/**
 * Messages for runs that are under way, in Redis: one list for each session. Each script
 * names that key alone, because a cluster refuses one that names a missing key of a moving slot.
 */
export class SteerStore {
  readonly #wire: RedisWire;
  readonly #store: RunStore;
  readonly #maxBytes: number;

  constructor(wire: RedisWire, store: RunStore, maxBytes: number) {
    this.#wire = wire;
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /**
   * Says a message to a run; false where the run sees nothing more.
   *
   * @throws ConflictError `busy`; StoreError `too_large`.
   */
  async add(session: SessionRef, at: string, message: BaseMessage): Promise<boolean> {
    const name = shortHash(message.id!, nameLength);
    const text = await this.#store.sealAlone(session, placeOf(name), new ChunkWriter().text(message));
    const place = sessionLabel(session.id);
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#maxBytes) {
      const sentence = `A message for the run of ${place} takes ${bytes} bytes`;
      const hint = `"limits.maxMessageBytes" allows ${this.#maxBytes}; nothing was written.`;
      throw new StoreError(`${sentence}; ${hint}`, { code: "too_large", operation: "steerRun", sessionId: session.id });
    }
    const [word] = await this.#run(session, addSteerScript, [at, name, text, mostSteers, runTtlMs.running]);
    if (word === "FULL") {
      const sentence = `The run of ${place} was given ${mostSteers} messages`;
      throw new ConflictError(`${sentence}; wait for its end.`, { code: "busy", sessionId: session.id });
    }
    return word === "ADDED";
  }

  /** The list of a run. Opens it to the run; or closes it, where it holds nothing behind the message named. */
  async held(session: SessionRef, at: string, how: readonly ["open"] | readonly ["close", string]): Promise<Steer[]> {
    const args = [at, runTtlMs.running, ...how];
    const [, ...elements] = await this.#run(session, takeSteersScript, args);
    return Promise.all(
      elements.map(async (element) => {
        const name = element.slice(0, nameLength);
        const text = await this.#store.open(session, placeOf(name), element.slice(nameLength + 1));
        const [message] = new ChunkReader().chunks(`[${text}]`);
        return { name, message: message as BaseMessage };
      }),
    );
  }

  /** Closes the list of a run that ends, and drops what is stored. */
  async settle(session: SessionRef, at: string, stored: readonly string[]): Promise<void> {
    await this.#run(session, settleSteersScript, [at, ...stored]);
  }

  async #run({ id }: SessionRef, script: Script, args: readonly (string | number)[]): Promise<string[]> {
    const keys = [runKeys(this.#wire.keyPrefix, id).steers];
    const call = { script, keys, args, writes: true };
    return (await this.#wire.runner.run({ operation: "steerRun", sessionId: id }, call)) as string[];
  }
}

/** Messages for one run of this process. */
export class RunSteers implements SaidToRun {
  readonly #store: SteerStore;
  readonly #session: SessionRef;
  readonly #at: string;
  readonly #storedOf: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** The names of messages that the run was given, or that an earlier run has stored, in order. */
  readonly #names = new Set<string>();
  #isOpen = false;
  /** True once the list was read that an earlier run left. */
  #isRead = false;

  /** `storedOf` returns which ids the session holds. */
  constructor(
    store: SteerStore,
    session: SessionRef,
    {
      at,
      storedOf,
    }: { readonly at: string; readonly storedOf: (ids: readonly string[]) => Promise<ReadonlySet<string>> },
  ) {
    this.#store = store;
    this.#session = session;
    this.#at = at;
    this.#storedOf = storedOf;
  }

  /** Messages since the last call; at first also those that an earlier run of the session did not see. */
  take(): Promise<BaseMessage[]> {
    return this.#unlessAway(async () => {
      this.#isOpen = true;
      const held = await this.#store.held(this.#session, this.#at, ["open"]);
      const isLeft = !this.#isRead && held.length > 0;
      const stored = isLeft ? await this.#storedOf(held.map(({ message }) => message.id!)) : undefined;
      this.#isRead = true;
      return this.#unknown(held).filter(({ id }) => stored?.has(id!) !== true);
    });
  }

  /** The same; where there is nothing, the run sees no more: what is said from now on is for the next turn. */
  takeOrClose(): Promise<BaseMessage[]> {
    return this.#unlessAway(async () => {
      const last = [...this.#names].at(-1) ?? "";
      return this.#unknown(await this.#store.held(this.#session, this.#at, ["close", last]));
    });
  }

  /** Before the end of the run is reported. With `isStored`, the memory has stored what the run was given. */
  async settle({ isStored }: { readonly isStored: boolean }): Promise<void> {
    if (this.#isOpen) {
      await this.#store.settle(this.#session, this.#at, isStored ? [...this.#names] : []);
    }
  }

  #unknown(held: readonly Steer[]): BaseMessage[] {
    const unknown = held.filter(({ name }) => !this.#names.has(name));
    unknown.forEach(({ name }) => this.#names.add(name));
    return unknown.map(({ message }) => message);
  }

  /** While Redis is away, nothing: what was said stays for the next call, or the next run. */
  async #unlessAway(take: () => Promise<BaseMessage[]>): Promise<BaseMessage[]> {
    try {
      return await take();
    } catch (error) {
      if (MemoryError.isInstance(error) && error.retryable) {
        return [];
      }
      throw error;
    }
  }
}

function placeOf(name: string): string {
  return `steer ${name}`;
}
