import { createHash } from "node:crypto";
import { type Fields, fieldsIn, listIn, textIn } from "../json.js";

/** A thought in the body of a request, with a digest of all that stands before it. */
export interface PlacedThought {
  /** Its signature, or the data of a redacted thought; undefined if it has none. */
  readonly proof: string | undefined;
  /** Digest of system, tools, the messages before it, and the blocks before it in its message. */
  readonly prefix: string;
  readonly path: string;
}

/** Thoughts of a request with their prefixes, and the prefix that an answer to the request has. */
export interface PlacedThoughts {
  readonly thoughts: readonly PlacedThought[];
  readonly end: string;
}

/** Models that bind a thought to all that stands before it: platform.claude.com, "preserved thinking". */
const binding = /claude-(?:(?:fable|mythos)-5-[12]|(?:opus|sonnet|haiku)-5-5)/;

/** True for a model that binds its thoughts. Bedrock's names of these models contain the same words. */
export function bindsThoughts(model: string): boolean {
  return binding.test(model);
}

/** Digests of all prefixes in one walk over the body. `cache_control` and deferred tools do not count. */
export function placeThoughts({ system, tools, messages }: Fields): PlacedThoughts {
  const kept = listIn(tools).filter(({ defer_loading }) => defer_loading !== true);
  let chain = digestOf("", { system: contentOf(system), tools: kept });
  const thoughts: PlacedThought[] = [];
  listIn(messages).forEach(({ role, content }, index) => {
    const blocks = contentOf(content);
    let inside = chain;
    blocks.forEach((block, place) => {
      if (isThought(block)) {
        const proof = proofOf(block);
        thoughts.push({ proof, prefix: inside, path: `messages[${index}].content[${place}]` });
      }
      inside = digestOf(inside, block);
    });
    chain = digestOf(chain, { role, blocks });
  });
  return { thoughts, end: chain };
}

/** Digests of what stands before each thought of an answer to a request that ends at `end`. */
export function placeAnswer(blocks: readonly Fields[], end: string): readonly Omit<PlacedThought, "path">[] {
  let inside = end;
  return blocks.flatMap((block) => {
    const placed = { proof: proofOf(block), prefix: inside };
    inside = digestOf(inside, block);
    return isThought(block) ? [placed] : [];
  });
}

/** True for a thinking block, redacted or not. */
export function isThought({ type }: Fields): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function proofOf(block: Fields): string | undefined {
  return textIn(block["type"] === "thinking" ? block["signature"] : block["data"]);
}

/** Text is the same as one block of it, also in a tool's result. */
function contentOf(content: unknown): readonly Fields[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : listIn(content).map(withBlocks);
}

function withBlocks(block: Fields): Fields {
  return block["type"] === "tool_result" ? { ...block, content: contentOf(block["content"]) } : block;
}

function digestOf(chain: string, value: unknown): string {
  return createHash("sha256")
    .update(chain)
    .update(JSON.stringify(value, (key, field: unknown) => (key === "cache_control" ? undefined : sorted(field))) ?? "")
    .digest("hex");
}

/** Objects with their keys in order, because the order of keys says nothing. */
function sorted(value: unknown): unknown {
  return typeof value !== "object" || value === null || Array.isArray(value)
    ? value
    : Object.fromEntries(Object.entries(fieldsIn(value)).sort(([a], [b]) => (a < b ? -1 : 1)));
}
