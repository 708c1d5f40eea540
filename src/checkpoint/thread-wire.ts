import { ConfigurationError } from "../base/errors.js";
import type { MemoryEventHandler } from "../base/events.js";
import type { SchemaOutput } from "../base/options.js";
import { contextOf } from "../memory/redis-chat-memory.js";
import { openConnection } from "../redis/connection.js";
import { ScriptRunner } from "../redis/script-runner.js";
import { wireOf } from "../redis-store/redis-session-store.js";
import { checkEncryption } from "../sealed/keys/encryption-options.js";
import { KeyRing } from "../sealed/keys/key-ring.js";
import { sealedParts } from "../sealed/store.js";
import type { RedisSaverOptions, saverSchema } from "./saver-options.js";

/** The connection that threads are written on, and the keys that seal them. */
export interface ThreadWire {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
  /** Undefined where plain text is stored. */
  readonly ring: KeyRing | undefined;
  /** Milliseconds. */
  readonly commandTimeout: number;
  readonly onEvent: MemoryEventHandler | undefined;
  close(): Promise<void>;
}

/** The wire of the memory that the options name, or a new one on their connection. */
export function openWire(options: RedisSaverOptions, checked: SchemaOutput<typeof saverSchema>): ThreadWire {
  if (options.memory !== undefined) {
    return lentWire(options.memory, options);
  }
  const { encryption, keyPrefix, commandTimeout, onEvent } = checked;
  if (encryption !== undefined) {
    checkEncryption("RedisSaver", encryption);
  }
  const connection = openConnection("RedisSaver", options, commandTimeout);
  const runner = new ScriptRunner({ connection, commandTimeout, waitReplicas: undefined, onEvent });
  const ring = encryption && KeyRing.of(encryption);
  const close = async () => {
    runner.close();
    await connection.close(commandTimeout);
  };
  return { runner, keyPrefix, ring, commandTimeout, onEvent, close };
}

/** Options that a saver takes from the memory that lends its connection. */
const lent = ["client", "url", "config", "keyPrefix", "commandTimeout", "encryption", "onEvent"] as const;

function lentWire(memory: object, options: RedisSaverOptions): ThreadWire {
  const surplus = lent.find((name) => options[name as keyof typeof options] !== undefined);
  if (surplus !== undefined) {
    throw new ConfigurationError(
      surplus,
      `RedisSaver: option "${surplus}" cannot be combined with "memory"; the saver uses that of the memory.`,
    );
  }
  const context = contextOf(memory);
  const sealed = context && sealedParts(context.source);
  const wire = context && wireOf(sealed?.store ?? context.source);
  if (wire === undefined) {
    throw new ConfigurationError(
      "memory",
      'RedisSaver: option "memory" must be a RedisChatMemory on Redis; give "client", "url" or "config" instead.',
    );
  }
  return { ...wire, ring: sealed?.ring, onEvent: context?.onEvent, close: async () => undefined };
}
