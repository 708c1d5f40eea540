import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { ConfigurationError, RecordError, StoreError } from "../base/errors.js";
import { report, type MemoryEventHandler } from "../base/events.js";
import { fieldsOf } from "../messages/values.js";
import { anyFunction, lazy, objectWith, parseOptions } from "../base/options.js";
import { shortHash } from "../base/ids.js";
import { decodeRecord } from "./decode-record.js";

/** What is needed of a client: `Redis` and `Cluster` of ioredis have it. */
export interface ListReader {
  /** The elements of a list, as `LRANGE` gives them. */
  lrange(key: string, start: number, stop: number): Promise<string[]>;
}

/** Which list to read, and what to do with elements that cannot be read. */
export interface ReadLegacyOptions {
  /** An ioredis client; it is not closed. */
  readonly client: ListReader;
  /** The list's key: the `sessionId` of those packages, which use it as it is. */
  readonly key: string;
  /** Throw at the first element that cannot be read, instead of leaving it out. @default false */
  readonly strict?: boolean;
  /**
   * Gets `record_skipped` for each element that is left out, with the key as session and the index counted from the
   * oldest element.
   */
  readonly onEvent?: MemoryEventHandler;
}

const schema = lazy(() =>
  z.strictObject({
    client: objectWith<ListReader>(["lrange"], "an ioredis client"),
    key: z.string("must be a string").check(z.minLength(1, "must be a string that is not empty")),
    strict: z._default(z.boolean("must be true or false"), false),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);

/** Elements per reply. */
const pageSize = 100;

/**
 * The messages of a list that @langchain/redis or @langchain/community wrote, oldest first; none if the key does not
 * exist. Redis is not changed.
 *
 * A message without an id gets one made from the key, its index from the oldest and its text. The same list gives the
 * same ids each time, so a migration that is run again appends nothing twice.
 *
 * Those packages put the newest message first. The list is read page by page from its end, where indexes stay the same
 * while messages are added. Messages that are added meanwhile may be missing from the result; a list that is trimmed or
 * deleted meanwhile is read in part.
 *
 * @throws RecordError with `strict`; StoreError `wrong_type` if the key does not hold a list; ConfigurationError for an
 *   option that cannot be used; other errors of the client as they are.
 */
export async function readLegacyMessages(options: ReadLegacyOptions): Promise<BaseMessage[]> {
  const messages: BaseMessage[] = [];
  for await (const page of legacyPages(options)) {
    messages.push(...page);
  }
  return messages;
}

/** The messages of {@link readLegacyMessages} in pages of at most a hundred: no long list is held as a whole. */
export async function* legacyPages(options: ReadLegacyOptions): AsyncGenerator<BaseMessage[]> {
  refuseNodeRedis((options as Partial<ReadLegacyOptions> | undefined)?.client);
  const { client, key, strict, onEvent } = parseOptions("readLegacyMessages", schema(), options);
  for (let read = 0; ; read += pageSize) {
    const page = await readPage(client, key, read);
    yield page.reverse().flatMap((element, offset) => {
      return readElement(element, { position: read + offset, key, strict, onEvent }) ?? [];
    });
    if (page.length < pageSize) {
      return;
    }
  }
}

/** node-redis names its methods in camel case; its legacy mode has `lrange`, but takes a callback. */
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

/** By position too, because equal messages at different positions are different messages. */
function legacyId(element: string, { key, position }: Pick<Element, "key" | "position">): string {
  return `legacy:${shortHash(JSON.stringify([key, position, element]), 22)}`;
}
