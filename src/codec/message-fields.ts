import { isRecord } from "../messages/values.js";

/**
 * The types of messages that are stored. A developer message is a system message (`additional_kwargs.__openai_role__`).
 */
export type StoredType = "human" | "ai" | "system" | "tool" | "generic" | "function";

/** The fields of a stored message, under the names that LangChain's own `{ type, data }` uses. */
export interface MessageFields {
  content: string | object[];
  additional_kwargs: Record<string, unknown>;
  response_metadata: Record<string, unknown>;
  [field: string]: unknown;
}

type Shape = "content" | "text" | "record" | "records" | "any";

const common: readonly (readonly [string, Shape])[] = [
  ["content", "content"],
  ["name", "text"],
];
const details: readonly (readonly [string, Shape])[] = [
  ["additional_kwargs", "record"],
  ["response_metadata", "record"],
];
const plain = [...common, ...details];

/** The fields of each type, in the order in which records hold them. */
export const fieldsByType: ReadonlyMap<string, readonly (readonly [field: string, shape: Shape])[]> = new Map([
  ["human", plain],
  ["system", plain],
  ["function", plain],
  [
    "ai",
    [...common, ["tool_calls", "records"], ["invalid_tool_calls", "records"], ["usage_metadata", "record"], ...details],
  ],
  [
    "tool",
    [...common, ["tool_call_id", "text"], ["status", "text"], ["artifact", "any"], ["metadata", "record"], ...details],
  ],
  ["generic", [...common, ["role", "text"], ...details]],
] satisfies [StoredType, (readonly [string, Shape])[]][]);

/** The field without which a message of a type means nothing. */
export const requiredField: ReadonlyMap<string, string> = new Map([
  ["tool", "tool_call_id"],
  ["generic", "role"],
]);

/** What is wrong with a field's value, as the end of a sentence; undefined if nothing is. */
export function shapeProblem(shape: Shape, value: unknown): string | undefined {
  switch (shape) {
    case "text":
      return typeof value === "string" ? undefined : "must be a string";
    case "record":
      return isRecord(value) ? undefined : "must be an object";
    case "records":
      return Array.isArray(value) && value.every(isRecord) ? undefined : "must be an array of objects";
    case "content":
      return typeof value === "string" || (Array.isArray(value) && value.every(isRecord))
        ? undefined
        : "must be a string or an array of content blocks";
    case "any":
      return undefined;
  }
}
