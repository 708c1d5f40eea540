import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError, RecordError, StoreError } from "../../base/errors.js";
import { report, type MemoryEventHandler } from "../../base/events.js";
import { fieldsOf } from "../../conversation/messages/message.js";
import { anyFunction, lazy, objectWith, parseOptions } from "../../base/options.js";
import { shortHash } from "../../base/ids.js";
import { decodeRecord } from "./decode-record.js";

/** The required part of a client; ioredis `Redis` and `Cluster` implement it. */
export interface ListReader {
  /** The elements of a list, as `LRANGE` gives them. */
  lrange(key: string, start: number, stop: number): Promise<string[]>;
}

/** Options of {@link readLegacyMessages}: the list, and the policy for unreadable elements. */
export interface ReadLegacyOptions {
  /** An ioredis client; stays open. */
  readonly client: ListReader;
  /** The list's key: the other package's `sessionId`, verbatim. */
  readonly key: string;
  /** Throw at the first unreadable element instead of skipping it. @default true without `onEvent` */
  readonly strict?: boolean;
  /**
   * Receives `record_skipped` for each skipped element: the key as `sessionId`, the index from the oldest as
   * `position`.
   */
  readonly onEvent?: MemoryEventHandler;
}

const schema = lazy(() =>
  z.strictObject({
    client: objectWith<ListReader>(["lrange"], "an ioredis client"),
    key: z.string("must be a string").check(z.minLength(1, "must be a string that is not empty")),
    strict: z.optional(z.boolean("must be true or false")),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);

/** Elements per `LRANGE`. */
const pageSize = 100;

/**
 * Returns the messages of a list written by @langchain/redis or @langchain/community, oldest first; none if the key
 * does not exist. Read-only.
 *
 * A message without an id gets a hash of the key, its index from the oldest and its text: a migration that runs again
 * is idempotent.
 *
 * These packages push the newest message to the front, so the list is read in pages from its end, where indexes are
 * stable. Messages added during the read may be missing; a list trimmed or deleted during the read is returned in part.
 *
 * @throws RecordError `corrupt` with `strict`, so also without `onEvent`; StoreError `wrong_type` if the key does not
 *   hold a list; ConfigurationError for an option that cannot be used; other errors of the client as they are.
 */
export async function readLegacyMessages(options: ReadLegacyOptions): Promise<BaseMessage[]> {
  const messages: BaseMessage[] = [];
  for await (const page of legacyPages(options)) {
    messages.push(...page.map(({ message }) => message));
  }
  return messages;
}

/** A message that was read, and the element that it was read of. */
export interface LegacyMessage {
  readonly message: BaseMessage;
  readonly source: string;
}

/** {@link readLegacyMessages} as pages of at most 100 messages, for long lists. */
export async function* legacyPages(options: ReadLegacyOptions): AsyncGenerator<LegacyMessage[]> {
  refuseNodeRedis((options as Partial<ReadLegacyOptions> | undefined)?.client);
  const {
    client,
    key,
    onEvent,
    strict = onEvent === undefined,
  } = parseOptions("readLegacyMessages", schema(), options);
  for (let read = 0; ; read += pageSize) {
    const page = await readPage(client, key, read);
    yield page.reverse().flatMap((source, offset) => {
      const message = readElement(source, { position: read + offset, key, strict, onEvent });
      return message === undefined ? [] : { message, source };
    });
    if (page.length < pageSize) {
      return;
    }
  }
}

/** node-redis uses camel case; its legacy mode has a callback-style `lrange`. */
function refuseNodeRedis(client: unknown): void {
  const { lRange, defineCommand, sendCommand } = fieldsOf(client);
  const isNodeRedis = typeof lRange === "function" || typeof sendCommand === "function";
  if (isNodeRedis && typeof defineCommand !== "function") {
    throw new ConfigurationError(
      "client",
      'readLegacyMessages: option "client" is a node-redis client, but this package uses ioredis; ' +
        "pass an ioredis Redis or Cluster.",
    );
  }
}

async function readPage(client: ListReader, key: string, read: number): Promise<string[]> {
  try {
    return await client.lrange(key, -read - pageSize, -read - 1);
  } catch (error) {
    if (String((error as Error | undefined)?.message).startsWith("WRONGTYPE")) {
      throw new StoreError(
        "readLegacyMessages: the key does not hold a list; pass the sessionId that the other package was given.",
        { code: "wrong_type", operation: "readLegacyMessages", sessionId: key, cause: error },
      );
    }
    throw error;
  }
}

interface Element {
  readonly position: number;
  readonly key: string;
  readonly strict: boolean;
  readonly onEvent: MemoryEventHandler | undefined;
}

function readElement(element: string, { position, key, strict, onEvent }: Element): BaseMessage | undefined {
  try {
    const { message } = decodeRecord(element, position);
    if (message.id === undefined) {
      message._updateId(legacyId(element, { key, position }));
    }
    return message;
  } catch (error) {
    if (strict || !RecordError.isInstance(error)) {
      throw error;
    }
    report(onEvent, { type: "record_skipped", sessionId: key, position, error });
    return undefined;
  }
}

/** Includes the position, because equal messages at different positions are distinct. */
function legacyId(element: string, { key, position }: Pick<Element, "key" | "position">): string {
  return `legacy:${shortHash(JSON.stringify([key, position, element]), 22)}`;
}
