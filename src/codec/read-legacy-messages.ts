import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { RecordError, StoreError } from "../errors.js";
import { report, type MemoryEventHandler } from "../events.js";
import { anyFunction, lazy, objectWith, parseOptions } from "../options.js";
import { decodeRecord } from "./decode-record.js";

/** What is needed of a client: ioredis's `Redis` and `Cluster` have it. */
export interface ListReader {
  lrange(key: string, start: number, stop: number): Promise<string[]>;
}

/** Which list to read, and what to do with elements that are no messages. */
export interface ReadLegacyOptions {
  /** The client; it is not closed. */
  readonly client: ListReader;
  /** The list's key: the `sessionId` of those packages, which use it as it is. */
  readonly key: string;
  /** Throw at the first element that cannot be read, instead of leaving it out. @default false */
  readonly strict?: boolean;
  /**
   * Is told `record_skipped` for each element left out, with the key as session and the index counted from the oldest.
   */
  readonly onEvent?: MemoryEventHandler;
}

const schema = lazy(() =>
  z.strictObject({
    client: objectWith<ListReader>(["lrange"], "an ioredis client"),
    key: z.string("must be a string").min(1, "must be a string that is not empty"),
    strict: z.boolean("must be true or false").default(false),
    onEvent: anyFunction<MemoryEventHandler>().optional(),
  }),
);

/** Elements per reply. */
const pageSize = 100;

/**
 * The messages of a list that @langchain/redis or @langchain/community wrote, oldest first; none where the key does not
 * exist.
 *
 * Those packages put the newest message first, so the list is read page by page from its end, where positions stay the
 * same while messages are added. Messages that are added meanwhile may be missing from the result; a list that is
 * trimmed or deleted meanwhile is read in part. Nothing is changed in Redis.
 *
 * @throws RecordError with `strict`; StoreError `wrong_type` where the key holds no list; other errors of the client as
 *   they are.
 */
export async function readLegacyMessages(options: ReadLegacyOptions): Promise<BaseMessage[]> {
  const { client, key, strict, onEvent } = parseOptions("readLegacyMessages", schema(), options);
  const messages: BaseMessage[] = [];
  for (let read = 0; ; read += pageSize) {
    const page = await readPage(client, key, read);
    page.reverse().forEach((element, offset) => {
      const message = readElement(element, { position: read + offset, key, strict, onEvent });
      if (message !== undefined) {
        messages.push(message);
      }
    });
    if (page.length < pageSize) {
      return messages;
    }
  }
}

async function readPage(client: ListReader, key: string, read: number): Promise<string[]> {
  try {
    return await client.lrange(key, -read - pageSize, -read - 1);
  } catch (error) {
    if (String((error as Error | undefined)?.message).startsWith("WRONGTYPE")) {
      throw new StoreError(
        "readLegacyMessages: the key does not hold a list; name the key that the former package was given as sessionId.",
        {
          code: "wrong_type",
          operation: "readLegacyMessages",
          sessionId: key,
          cause: error,
        },
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
    return decodeRecord(element, position).message;
  } catch (error) {
    if (strict || !RecordError.isInstance(error)) {
      throw error;
    }
    report(onEvent, { type: "record_skipped", sessionId: key, position, error });
    return undefined;
  }
}
