import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blockList } from "../../messages/content.js";
import { mediaIn } from "../../messages/media.js";
import { type Fields, fieldsOf, isRecord, stringIn } from "../../messages/values.js";
import type { RequestPlace } from "./adapter.js";

/** Bedrock's bound for the name of a document, in characters. */
const maxLength = 200;

/** Stands between names, none of which holds it. */
const separator = "/";

/**
 * The names of each message's documents in a request to Bedrock, which takes each name once, whatever its case. They
 * are numbered from the front, so that later turns send earlier documents under the same names.
 */
export function documentNames(messages: readonly BaseMessage[]): ReadonlyMap<number, RequestPlace> {
  const taken = new Map<string, number>();
  return new Map(
    messages.flatMap((message, index) => {
      const names = blockList(message)
        .filter(isDocument)
        .map((block) => freeName(plainName(nameOf(block)), taken));
      return names.length === 0 ? [] : [[index, { documentNames: names.join(separator) }] as const];
    }),
  );
}

/** A function that gives the documents among blocks, in turn, the names that they have in their request. */
export function namedDocuments(names: string | undefined): (block: Block, formed: Block) => Block {
  const left = names?.split(separator) ?? [];
  return (block, formed) => {
    const name = isDocument(block) ? left.shift() : undefined;
    return name === undefined ? formed : withName(formed, name);
  };
}

function isDocument(block: Block): boolean {
  return mediaIn(block)?.kind === "file";
}

function nameOf(block: Block): string {
  return stringIn(fieldsOf((block as Fields)["document"])["name"]) ?? mediaIn(block)?.name ?? "";
}

function withName(block: Block, name: string): Block {
  const { document, metadata } = block as Fields;
  if (block.type === "document" && isRecord(document)) {
    return document["name"] === name ? block : { ...block, document: { ...document, name } };
  }
  return (block.type as string) !== "file" || fieldsOf(metadata)["name"] === name
    ? block
    : { ...block, metadata: { ...fieldsOf(metadata), name } };
}

/** Amazon takes Latin letters, digits, single spaces, hyphens and brackets. Letters with accents lose these. */
function plainName(name: string): string {
  const plain = name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9()[\]-]+/g, " ");
  return plain.trim().slice(0, maxLength).trimEnd() || "file";
}

function freeName(name: string, taken: Map<string, number>): string {
  const key = name.toLowerCase();
  let free = name;
  let count = taken.get(key) ?? 0;
  while (taken.has(free.toLowerCase())) {
    count += 1;
    const ending = ` ${count + 1}`;
    free = `${name.slice(0, maxLength - ending.length).trimEnd()}${ending}`;
  }
  taken.set(key, count);
  taken.set(free.toLowerCase(), taken.get(free.toLowerCase()) ?? 0);
  return free;
}
