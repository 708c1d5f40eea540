import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";

/**
 * The part that a message plays. `system` includes developer messages; a summary is never `human`, whatever its role
 * for the model.
 */
export type Role = "system" | "summary" | "human" | "ai" | "tool" | "other";

/** Key in `additional_kwargs` that marks a message as a summary and says what it covers (see {@link SummaryMark}). */
export const summaryKey = "lcmem_summary";

/** What a summary stands for: the first and last message that it covers, by id, and how many they are. */
export interface SummaryMark {
  readonly firstId: string | undefined;
  readonly lastId: string | undefined;
  readonly count: number;
}

const genericRoles: ReadonlyMap<string, Role> = new Map<string, Role>([
  ["system", "system"],
  ["developer", "system"],
  ["user", "human"],
  ["human", "human"],
  ["assistant", "ai"],
  ["ai", "ai"],
]);

const typedRoles: ReadonlyMap<string, Role> = new Map<string, Role>([
  ["system", "system"],
  ["developer", "system"],
  ["human", "human"],
  ["ai", "ai"],
  ["tool", "tool"],
]);

/** The role of a message, by its type (never by its class: an application may hold two copies of @langchain/core). */
export function roleOf(message: BaseMessage): Role {
  if (summaryMarkOf(message) !== undefined) {
    return "summary";
  }
  const type: string = message.getType();
  if (type === "generic") {
    return genericRoles.get((message as unknown as { role: string }).role) ?? "other";
  }
  return typedRoles.get(type) ?? "other";
}

/** The mark of a summary; undefined for every other message. */
export function summaryMarkOf(message: BaseMessage): SummaryMark | undefined {
  const mark = message.additional_kwargs?.[summaryKey];
  return typeof mark === "object" && mark !== null ? (mark as SummaryMark) : undefined;
}

/** Ids of the tool calls that an AI message makes, in order, those with unreadable arguments included. */
export function callIdsOf({ tool_calls: calls, invalid_tool_calls: invalid }: AIMessage): string[] {
  const ids: string[] = [];
  for (const list of [calls, invalid]) {
    for (const { id } of recordsIn<{ readonly id?: unknown }>(list)) {
      if (typeof id === "string") {
        ids.push(id);
      }
    }
  }
  return ids;
}

/**
 * The objects in a list of calls; none where it is no list. A message that was read from elsewhere may hold anything in
 * its fields.
 */
export function recordsIn<T extends object>(list: readonly T[] | undefined): readonly T[] {
  if (!Array.isArray(list)) {
    return [];
  }
  const records = list as readonly T[];
  return records.every(isRecord) ? records : records.filter(isRecord);
}

function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

/** The id of the call that a tool message answers; undefined for every other message. */
export function answeredCallId(message: BaseMessage): string | undefined {
  return roleOf(message) === "tool" ? (message as ToolMessage).tool_call_id : undefined;
}
