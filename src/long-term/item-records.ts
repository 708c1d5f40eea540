import type { Item } from "@langchain/langgraph-checkpoint";
import { RecordError } from "../base/errors.js";
import { encodeSessionId } from "../store/session-ref.js";
import { partsOf } from "./item-names.js";
import { valueIn } from "../messages/values.js";

/** A parsed record. */
export interface StoredItem {
  readonly name: string;
  readonly created: number;
  readonly updated: number;
  /** True if reads extend its expiry. */
  readonly isRefreshed: boolean;
  /** The value as JSON, which may be encrypted. */
  readonly text: string;
}

/** Parses a record: `created|updated|ttl on read|text`. @throws RecordError `corrupt` */
export function parseRecord(name: string, record: string): StoredItem {
  const [, created, updated, ttl, text] = /^(\d+)\|(\d+)\|(\d*)\|(.*)$/s.exec(record) ?? [];
  if (text === undefined) {
    throw corruptItem(name);
  }
  return { name, created: Number(created), updated: Number(updated), isRefreshed: ttl !== "", text };
}

/** The item of a record, from its decrypted text. @throws RecordError `corrupt` */
export function itemOf({ name, created, updated }: StoredItem, text: string): Item {
  const value = valueIn(text);
  if (typeof value !== "object" || value === null) {
    throw corruptItem(name);
  }
  const { namespace, key } = partsOf(name);
  const [createdAt, updatedAt] = [new Date(created), new Date(updated)];
  return { value: value as Item["value"], key, namespace, createdAt, updatedAt };
}

/** The error for an unreadable record. Namespace and key are encoded, so that they cannot forge log lines. */
function corruptItem(name: string): RecordError {
  const { namespace, key } = partsOf(name);
  const label = [...namespace, key].map(encodeSessionId).join(" ").slice(0, 160);
  return new RecordError(`Item ${label} of the RedisStore cannot be read. Write it again with put(), or delete() it.`, {
    code: "corrupt",
  });
}
