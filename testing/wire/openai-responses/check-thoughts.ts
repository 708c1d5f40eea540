import { type Fields, textIn } from "../json.js";
import type { ProviderMemory } from "../provider-memory.js";
import type { ResponsesFindings } from "./sources.js";

interface Sent {
  /** False if the request says that nothing is stored. */
  readonly stores: boolean;
  readonly memory: ProviderMemory | undefined;
  readonly findings: ResponsesFindings;
}

/**
 * Checks that each thought can be read (it is stored, or comes with its encrypted content) and is followed by what it
 * led to, and that no item stands without the thought that it belongs to.
 */
export function checkThoughts(items: readonly Fields[], sent: Sent): void {
  const { memory, findings } = sent;
  let thought: string | undefined;
  items.forEach((item, index) => {
    const id = textIn(item["id"]);
    const path = `input[${index}]`;
    if (item["type"] === "reasoning") {
      checkThought(item, { ...sent, path });
      if (!isOfModel(items[index + 1])) {
        const text = `Item '${id ?? ""}' of type 'reasoning' was provided without its required following item.`;
        findings.add("thought-alone", path, text);
      }
      thought = id;
      return;
    }
    thought = isOfModel(item) ? thought : undefined;
    const needed = id === undefined ? undefined : memory?.thoughtOf(id);
    if (needed !== undefined && needed !== thought) {
      const type = String(item["type"]);
      const text = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${needed}'.`;
      findings.add("item-without-thought", path, text);
    }
  });
}

/** True for an item that the model made. */
function isOfModel(item: Fields | undefined): boolean {
  const type = textIn(item?.["type"]) ?? "message";
  if (item === undefined || type.endsWith("_output") || type === "mcp_approval_response") {
    return type === "tool_search_output";
  }
  return type !== "message" || item["role"] === "assistant";
}

function checkThought(item: Fields, { stores, memory, findings, path }: Sent & { readonly path: string }): void {
  const id = textIn(item["id"]);
  const encrypted = textIn(item["encrypted_content"]);
  const isStored = id !== undefined && stores && (memory === undefined || memory.hasStored(id));
  if (encrypted !== undefined && memory?.knows(encrypted) === false) {
    const text = "The encrypted content for this item could not be verified.";
    findings.add("foreign-thought", `${path}.encrypted_content`, text);
  } else if (encrypted === undefined && !isStored) {
    const text =
      id === undefined
        ? `Missing required parameter: '${path}.id'.`
        : `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
          "Try again with `store` set to true, or remove this item from your input.";
    findings.add("thought-not-stored", path, text);
  }
}
