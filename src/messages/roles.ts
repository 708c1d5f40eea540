import type { BaseMessage } from "@langchain/core/messages";

/** Who speaks in a message as a provider sees it. A summary speaks as its message type says. */
export type Speaker = "system" | "user" | "assistant" | "tool" | "other";

/**
 * The part that a message plays in a conversation. `system` includes developer messages; a summary is a `summary`
 * whatever its speaker.
 */
export type Role = "system" | "summary" | "human" | "ai" | "tool" | "other";

/** Key in `additional_kwargs` that marks a message as a summary and says what it covers (see {@link SummaryMark}). */
export const summaryKey = "lcmem_summary";

/** What a summary stands for: the first and last message that it covers, by id, and how many they are. */
export interface SummaryMark {
  /** Id of the first message that it covers; undefined where that had none. */
  readonly firstId: string | undefined;
  /** Id of the last message that it covers; undefined where that had none. */
  readonly lastId: string | undefined;
  /** How many messages it covers. */
  readonly count: number;
}

/** Speakers by message type, and by the role of a generic message. */
const speakers: ReadonlyMap<unknown, Speaker> = new Map<unknown, Speaker>([
  ["system", "system"],
  ["developer", "system"],
  ["human", "user"],
  ["user", "user"],
  ["ai", "assistant"],
  ["assistant", "assistant"],
]);

const roles: Readonly<Record<Speaker, Role>> = {
  system: "system",
  user: "human",
  assistant: "ai",
  tool: "tool",
  other: "other",
};

/** Who speaks. Decided by type and not by class: an application may hold two copies of @langchain/core. */
export function speakerOf(message: BaseMessage): Speaker {
  const type: string = message.getType();
  return speakerByType(type, type === "generic" ? genericRole(message) : undefined);
}

/** Who speaks in a message of this type; `role` counts for generic messages only. */
export function speakerByType(type: unknown, role: unknown): Speaker {
  return type === "tool" ? "tool" : (speakers.get(type === "generic" ? role : type) ?? "other");
}

/** The part that a message plays. */
export function roleOf(message: BaseMessage): Role {
  return summaryMarkOf(message) === undefined ? roles[speakerOf(message)] : "summary";
}

/** The role as the message itself names it: its type, or the role of a generic message. */
export function roleNameOf(message: BaseMessage): string {
  const type: string = message.getType();
  return type === "generic" ? genericRole(message) : type;
}

/** The role under which a message goes to OpenAI's API. */
export function wireRoleOf(message: BaseMessage): string {
  const speaker = speakerOf(message);
  return speaker === "user" || speaker === "assistant" ? speaker : roleNameOf(message);
}

/** The mark of a summary; undefined for every other message. */
export function summaryMarkOf(message: BaseMessage): SummaryMark | undefined {
  const mark = message.additional_kwargs?.[summaryKey];
  return typeof mark === "object" && mark !== null ? (mark as SummaryMark) : undefined;
}

function genericRole(message: BaseMessage): string {
  return (message as unknown as { readonly role: string }).role;
}
