import type { BaseMessage } from "@langchain/core/messages";

const fields = [
  ...[
    "type",
    "id",
    "name",
    "content",
    "additional_kwargs",
    "response_metadata",
    "tool_calls",
    "invalid_tool_calls",
    "usage_metadata",
  ],
  ...["tool_call_id", "artifact", "status", "metadata", "role"],
];

/**
 * What a caller can see of a message, for comparing messages of which one was made in another way; `undefined` counts
 * as missing.
 */
export function publicFields(message: BaseMessage): Record<string, unknown> {
  const values = message as unknown as Record<string, unknown>;
  return Object.fromEntries(
    fields.filter((field) => values[field] !== undefined).map((field) => [field, values[field]]),
  );
}
