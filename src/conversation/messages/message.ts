import { coerceMessageLikeToMessage, type BaseMessage, type BaseMessageLike } from "@langchain/core/messages";
import { ConfigurationError } from "../../base/errors.js";

/** The fields of an object whose shape is not known. */
export type Fields = Readonly<Record<string, unknown>>;

/** True for every object but an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The fields of a value; none if it is not a record. */
export function fieldsOf(value: unknown): Fields {
  return isRecord(value) ? value : {};
}

/** The records in an untrusted list; none if it is not a list. */
export function recordsIn<T extends object>(list: readonly T[] | undefined): readonly T[] {
  if (!Array.isArray(list)) {
    return [];
  }
  const values = list as readonly T[];
  return values.every(isRecord) ? values : values.filter(isRecord);
}

/** The value if it is a string. */
export function stringIn(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The value in a JSON text; undefined if it is not JSON. */
export function valueIn(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/**
 * {@link valueIn} for JSON of other programs: integers that JavaScript would round, such as 64-bit ids, are strings of
 * their digits.
 */
export function exactValueIn(json: string): unknown {
  const value = valueIn(json);
  return value === undefined || !/\d{16}/.test(json) ? value : JSON.parse(json.replace(stringOrInteger, exactly));
}

/** Strings and long integers of valid JSON; the digits of a fraction or exponent are no integer. */
const stringOrInteger = /"(?:[^"\\]+|\\.)*"|(?<![\w.+-])-?\d{16,}(?![\d.eE])/g;

function exactly(token: string): string {
  return token.startsWith('"') || String(Number(token)) === token ? token : `"${token}"`;
}

/** A record without some keys; itself where it has a value under none of them. */
export function without<T extends Fields>(record: T, ...keys: readonly string[]): T {
  if (keys.every((key) => record[key] === undefined)) {
    return record;
  }
  return Object.fromEntries(Object.entries(record).filter(([name]) => !keys.includes(name))) as T;
}

/** Place of a value in the input, for error messages. */
interface LikePlace {
  readonly option: string;
  readonly list: string;
  readonly index: number;
}

/**
 * Converts a string, a pair of role and text, or an object with a role to a message, as LangChain does. A message is
 * returned unchanged.
 *
 * @throws ConfigurationError for other values, without LangChain's error as cause, because that quotes the value.
 */
export function toMessage(like: unknown, { option, list, index }: LikePlace): BaseMessage {
  try {
    return coerceMessageLikeToMessage(like as BaseMessageLike);
  } catch {
    throw new ConfigurationError(option, `${list}[${index}] is not a message.`);
  }
}

/** Speaker of a message as a provider sees it; of a summary, the speaker of its message type. */
export type Speaker = "system" | "user" | "assistant" | "tool" | "other";

/**
 * Role of a message in a conversation. `system` includes developer messages; a summary is a `summary` whatever its
 * speaker.
 */
type Role = "system" | "summary" | "human" | "ai" | "tool" | "other";

/** Key in `additional_kwargs` of the {@link SummaryMark} of a summary. */
export const summaryKey = "lcmem_summary";

/** The messages that a summary covers: first and last id, and their number. */
export interface SummaryMark {
  /** Id of the first covered message, if it has one. */
  readonly firstId: string | undefined;
  /** Id of the last covered message, if it has one. */
  readonly lastId: string | undefined;
  /** Number of covered messages. */
  readonly count: number;
}

/** Key in `response_metadata` of the {@link RefusedMark} of a mark. */
export const refusedKey = "refused";

/** Why a request was refused for good, and which messages made it so. */
export interface RefusedMark {
  /** `too_long`: it exceeds the model's window, or a limit of the reducer. `refused`: the provider does not take it. */
  readonly reason: "too_long" | "refused";
  /** Ids of the turn's messages that no answer of the model follows: the question, or new tool results. */
  readonly ids: readonly string[];
  /**
   * Ids of messages in front of the turn that nothing answers, and which may be why: a retry of the turn that succeeds
   * does not clear them. @default none
   */
  readonly before?: readonly string[];
  /** The provider's HTTP status, if it named one. */
  readonly status?: number;
}

/** Key in `additional_kwargs` of messages that a repair added. */
export const synthesizedKey = "synthesized";

/** True for a message that a repair added. */
export function isSynthesized(message: BaseMessage): boolean {
  return (message.additional_kwargs as Record<string, unknown>)?.[synthesizedKey] === true;
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

/** The speaker, by type and not by class: an application may load two copies of @langchain/core. */
export function speakerOf(message: BaseMessage): Speaker {
  const type: string = message.getType();
  return speakerByType(type, type === "generic" ? genericRole(message) : undefined);
}

/** The speaker of a message type; `role` counts for generic messages only. */
export function speakerByType(type: unknown, role: unknown): Speaker {
  return type === "tool" ? "tool" : (speakers.get(type === "generic" ? role : type) ?? "other");
}

/** True for a result that shows a computer's screen: OpenAI takes only a whole image, and any text for its address. */
export function isScreenshot(message: BaseMessage): boolean {
  return message.additional_kwargs?.["type"] === "computer_call_output";
}

/** The role of a message. */
export function roleOf(message: BaseMessage): Role {
  return summaryMarkOf(message) === undefined ? roles[speakerOf(message)] : "summary";
}

/** The message's type, or the role of a generic message. */
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

/** The mark of a refused request; undefined for every other message. */
export function refusedMarkOf(message: BaseMessage): RefusedMark | undefined {
  const mark = (message.response_metadata as Record<string, unknown> | undefined)?.[refusedKey];
  return isRefusedMark(mark) && speakerOf(message) === "assistant" ? mark : undefined;
}

function isRefusedMark(value: unknown): value is RefusedMark {
  const { reason, ids } = (typeof value === "object" && value !== null ? value : {}) as Partial<RefusedMark>;
  return (reason === "too_long" || reason === "refused") && Array.isArray(ids);
}

function genericRole(message: BaseMessage): string {
  return (message as unknown as { readonly role: string }).role;
}

/** The message's own id; undefined if it has none. */
export function ownIdOf({ id }: BaseMessage): string | undefined {
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** True for the partial answer of a stopped run. */
export function isInterrupted(message: BaseMessage): boolean {
  return (message.response_metadata as Fields | undefined)?.["interrupted"] === true;
}
