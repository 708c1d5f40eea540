import type { Item } from "@langchain/langgraph-checkpoint";
import { RecordError } from "../base/errors.js";
import { encodeSessionId } from "../store/session-ref.js";
import { partsOf } from "./item-names.js";

/** A stored item, of which the text may be sealed. */
export interface StoredItem {
  readonly name: string;
  readonly created: number;
  readonly updated: number;
  /** True if reads keep it alive. */
  readonly isRefreshed: boolean;
  readonly text: string;
}

/** Takes a record apart: `created|updated|ttl at reads|text`. */
export function parseRecord(name: string, record: string): StoredItem {
  const [, created, updated, ttl, text] = /^(\d+)\|(\d+)\|(\d*)\|(.*)$/s.exec(record) ?? [];
  if (text === undefined) {
    throw corruptItem(name);
  }
  return { name, created: Number(created), updated: Number(updated), isRefreshed: ttl !== "", text };
}

/** The item whose text was opened. */
export function itemOf({ name, created, updated }: StoredItem, text: string): Item {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Below.
  }
  if (typeof value !== "object" || value === null) {
    throw corruptItem(name);
  }
  const { namespace, key } = partsOf(name);
  const [createdAt, updatedAt] = [new Date(created), new Date(updated)];
  return { value: value as Item["value"], key, namespace, createdAt, updatedAt };
}

/** The error for an item whose record cannot be read; names it so that it cannot break a log line. */
function corruptItem(name: string): RecordError {
  const { namespace, key } = partsOf(name);
  const label = [...namespace, key].map(encodeSessionId).join(" ").slice(0, 160);
  return new RecordError(`Item ${label} of the RedisStore cannot be read. Write it again with put(), or delete() it.`, {
    code: "corrupt",
  });
}
