import * as z from "zod/mini";
import { fitsBytes } from "../../base/bounds.js";
import { ConfigurationError } from "../../base/errors.js";
import { misspeltName, lazy, parseOptions, withoutUndefined } from "../../base/options.js";
import { mostBytes } from "../../store/contract/session-ref.js";
import type { SessionRef, SessionLabel, SessionSummary } from "../../store/contract/session-ref.js";
import { sealedTextParts } from "../../store/sealed/keys/session-key.js";
import { copyJson, isPlainObject } from "../../base/json.js";
import { KeyNeeded } from "../../store/contract/refusals.js";
import { valueIn } from "../../conversation/messages/message.js";

/** Owner of a session, and the label of a new one. */
export interface HistoryIdentity extends SessionNames {
  /**
   * Owner of the session, such as a user's id, 1 to 512 bytes. The first write claims a session without an owner; reads
   * and writes of another owner's session fail with a ConflictError `other_owner`. @default none: ownership is not
   * checked
   */
  readonly owner?: string;
  /** Title for a session that never had title or metadata; `memory.sessions.update` changes it. At most 1,000 bytes. */
  readonly title?: string;
  /** Metadata, stored together with the title: an object of JSON values, at most 16 kB. */
  readonly metadata?: SessionMetadata;
}

const identityNames = ["owner", "title", "metadata"];

const anyFields = (names: readonly string[]) =>
  z.strictObject(Object.fromEntries(names.map((name) => [name, z.optional(z.unknown())])));
const identitySchema = lazy(() => anyFields(identityNames));

/**
 * The reference to a session on behalf of one caller.
 *
 * @throws ConfigurationError naming the option.
 */
export function callerOf(sessionId: string, identity: HistoryIdentity): Omit<SessionRef, "hold"> {
  const checked = namesOnly(identity)
    ? identity
    : (parseOptions("history", identitySchema(), identity) as HistoryIdentity);
  const { owner, title, metadata } = checked;
  if (owner === undefined && title === undefined && metadata === undefined) {
    return { id: sessionId };
  }
  if (owner !== undefined) {
    checkOwnerName("history", owner);
  }
  const label = labelOf("history", checked);
  const hasLabel = Object.keys(label).length > 0;
  return { id: sessionId, ...(owner !== undefined && { owner }), ...(hasLabel && { label }) };
}

/** True for what {@link identitySchema} accepts, at a tenth of its cost: every history is opened by it. */
function namesOnly(identity: unknown): boolean {
  if (typeof identity !== "object" || identity === null || Object.getPrototypeOf(identity) !== Object.prototype) {
    return false;
  }
  for (const name in identity) {
    if (!identityNames.includes(name)) {
      return false;
    }
  }
  return true;
}

/**
 * Refuses an owner that is not a string of 1 to 512 bytes of UTF-8.
 *
 * @throws ConfigurationError `owner`; `user` names the called function.
 */
export function checkOwnerName(user: string, owner: unknown): asserts owner is string {
  const isText = typeof owner === "string" && owner !== "" && fitsBytes(owner, mostBytes.id) && owner.isWellFormed();
  if (!isText) {
    throw new ConfigurationError(
      "owner",
      `${user}: option "owner" must be a string of 1 to ${mostBytes.id} bytes of well-formed UTF-8.`,
    );
  }
}

/** Fields of `configurable` for a run's session and turn, read by chain and agent. */
export interface SessionFields extends HistoryIdentity {
  /** The session id. @default `configurable.thread_id` */
  readonly sessionId?: string;
  /**
   * Idempotency key of the turn: a second run with the same id returns the stored answer. @default the id of the user's
   * message
   */
  readonly turnId?: string;
}

/**
 * Config of a run, for the second argument of `invoke` or `stream`.
 * @example
 * import { sessionConfig, type SessionConfig } from "langchain-redis-memory";
 *
 * const session: SessionConfig = sessionConfig({ sessionId: "chat-7", owner: "user-1", title: "A trip to Oslo" });
 */
export interface SessionConfig {
  /** The given fields. */
  readonly configurable: SessionFields;
}

const fieldNames = ["sessionId", "turnId", "owner", "title", "metadata"] as const;

const configSchema = lazy(() => anyFields(fieldNames));

/**
 * Creates the config of a run on a session, typed and validated. For chains, agents and `ChatMemoryModule`; `title` and
 * `metadata` only label a session that never had any.
 *
 * @throws ConfigurationError naming the field; for a misspelt field also the intended name.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const chat = withRedisMemory(new ChatOpenAI({ model: "gpt-4o-mini" }), { memory });
 * await chat.invoke("Hi", sessionConfig({ sessionId: "chat-7", owner: "user-1", title: "A greeting" }));
 * await memory.close();
 */
export function sessionConfig(fields: SessionFields): SessionConfig {
  const configurable = withoutUndefined(parseOptions("sessionConfig", configSchema(), fields));
  const { sessionId } = configurable;
  if (sessionId !== undefined) {
    checkText("sessionConfig: sessionId", "sessionId", sessionId);
  }
  readRunNames(configurable, "sessionConfig");
  return { configurable };
}

/** Turn id and session identity of a run. */
interface RunNames {
  readonly turnId: string | undefined;
  readonly owner: { readonly owner?: string };
  readonly label: SessionNames;
}

/**
 * Reads the fields of `configurable` besides the session id. `user` is the calling class or function; `namesSession` is
 * true if the session id comes from elsewhere, so that a field similar to `sessionId` is the application's own.
 *
 * @throws ConfigurationError for an invalid value, and for a misspelt field (one letter or only its case wrong), which
 * would be ignored.
 */
export function readRunNames(
  configurable: Readonly<Record<string, unknown>>,
  user: string,
  { namesSession = false }: { readonly namesSession?: boolean } = {},
): RunNames {
  refuseNearMisses(configurable, user, namesSession);
  const { turnId, owner, title, metadata } = configurable;
  if (turnId !== undefined) {
    checkText(`${user}: configurable.turnId`, "turnId", turnId);
    if (!fitsBytes(turnId, mostBytes.id)) {
      throw new ConfigurationError("turnId", `${user}: configurable.turnId must have at most ${mostBytes.id} bytes.`);
    }
  }
  if (owner !== undefined) {
    checkText(`${user}: configurable.owner`, "owner", owner);
    checkOwnerName(user, owner);
  }
  const label = withoutUndefined({ title, metadata }) as SessionNames;
  if (title !== undefined || metadata !== undefined) {
    labelOf(`${user}: configurable`, label);
  }
  return { turnId, owner: owner === undefined ? {} : { owner }, label };
}

function checkText(place: string, field: string, value: unknown): asserts value is string {
  if (typeof value !== "string" || value === "") {
    throw new ConfigurationError(field, `${place} must be a non-empty string; without one, leave it out.`);
  }
}

/** A field beside the one that it resembles is the application's own, unless only the case differs. */
function refuseNearMisses(configurable: Readonly<Record<string, unknown>>, user: string, namesSession: boolean): void {
  const fields = new Set(Object.keys(configurable));
  for (const field of fields) {
    const isKnown = (fieldNames as readonly string[]).includes(field);
    const meant = isKnown ? undefined : misspeltName(field, fieldNames, { most: 1 });
    if (meant === undefined || (meant === "sessionId" && namesSession)) {
      continue;
    }
    const isGiven = fields.has(meant) || (meant === "sessionId" && fields.has("thread_id"));
    if (!isGiven || meant.toLowerCase() === field.toLowerCase()) {
      throw new ConfigurationError(
        field,
        `${user}: configurable.${field} is not read; did you mean "${meant}"? ` +
          `A field of your own that is named so needs "${meant}" beside it, which may be undefined.`,
      );
    }
  }
}

/** A session id, or a function of the run that returns it. */
export type SessionIdOption<Run> = string | ((run: Run) => string | undefined);

/** Schema of the option; `run` names the function's argument in the error. */
export const sessionIdSchema = <Run>(run: string) =>
  z.optional(
    z.custom<SessionIdOption<Run>>(
      (value) => typeof value === "function" || (typeof value === "string" && value !== ""),
      `must be a non-empty string or a function of the ${run}`,
    ),
  );

/** A run whose session id is needed. */
interface SessionRequest<Run> {
  /** The option, else the session id in the run's config. */
  readonly named: unknown;
  /** Argument of the option's function. */
  readonly run: Run;
  /** Caller and advice, for the error message. */
  readonly owner: string;
  readonly hint: string;
}

/**
 * The id of a run's session.
 *
 * @throws ConfigurationError if there is no id, or it is a number.
 */
export function sessionIdOf<Run>({ named, run, owner, hint }: SessionRequest<Run>): string {
  const id = typeof named === "function" ? (named as (run: Run) => unknown)(run) : named;
  if (typeof id === "number" || typeof id === "bigint") {
    throw new ConfigurationError(
      "sessionId",
      `${owner}: the session id is a number; pass it as a string, such as String(id).`,
    );
  }
  if (typeof id !== "string" || id === "") {
    throw new ConfigurationError("sessionId", `${owner}: the run names no session; ${hint}.`);
  }
  return id;
}

/** Metadata of a session: an object of JSON values. */
export type SessionMetadata = Readonly<Record<string, unknown>>;

/** Title and metadata of a session. */
export interface SessionNames {
  /** Title of the session; at most 1,000 bytes. @default none */
  readonly title?: string;
  /** Metadata of the application; at most 16,384 bytes as JSON. @default none */
  readonly metadata?: SessionMetadata;
}

/** Maximum bytes of a title, and of metadata as JSON: a page of a list reads those of all its sessions. */
const limits = { title: 1_000, metadata: 16_384 };

/**
 * The stored texts of title and metadata. The only serializer; {@link namesIn} is the only parser.
 *
 * @throws ConfigurationError `title` or `metadata`; `user` names the called function.
 */
export function labelOf(user: string, { title, metadata }: SessionNames): SessionLabel {
  if (title !== undefined) {
    checkTitle(user, title);
  }
  if (metadata === undefined) {
    return title === undefined || title === "" ? {} : { title };
  }
  return { ...(title !== undefined && title !== "" && { title }), metadata: metadataText(user, metadata) };
}

/** Parses title and metadata; omits unreadable metadata. */
export function namesIn({ title, metadata }: SessionLabel): {
  readonly title?: string;
  readonly metadata: SessionMetadata;
} {
  return { ...(title !== undefined && { title }), metadata: metadata === undefined ? {} : parsed(metadata) };
}

/** True for an encrypted label that this process cannot decrypt. */
export function isLocked({ title, metadata }: SessionLabel): boolean {
  return [title, metadata].some((text) => text !== undefined && sealedTextParts(text) !== undefined);
}

/**
 * Refuses an encrypted label without its key.
 *
 * @throws EncryptionError `unknown_key`.
 */
export function refuseLocked({ sessionId, label, key }: SessionSummary): void {
  if (isLocked(label)) {
    throw new KeyNeeded(sessionId, key);
  }
}

function checkTitle(user: string, title: unknown): void {
  if (typeof title !== "string" || !title.isWellFormed()) {
    throw new ConfigurationError("title", `${user}: option "title" must be a string of well-formed Unicode.`);
  }
  if (!fitsBytes(title, limits.title)) {
    throw new ConfigurationError("title", `${user}: option "title" must not be longer than ${limits.title} bytes.`);
  }
  if (sealedTextParts(title) !== undefined) {
    throw new ConfigurationError("title", `${user}: option "title" must not look like encrypted text ("~<key> …").`);
  }
}

function metadataText(user: string, metadata: unknown): string {
  const text = isPlainObject(metadata) ? jsonText(metadata) : undefined;
  if (text === undefined) {
    throw new ConfigurationError("metadata", `${user}: option "metadata" must be an object of JSON values.`);
  }
  if (!fitsBytes(text, limits.metadata)) {
    throw new ConfigurationError(
      "metadata",
      `${user}: option "metadata" must not be longer than ${limits.metadata} bytes as JSON.`,
    );
  }
  return text;
}

/** The JSON text; undefined for a value that JSON cannot express, or that is circular or nested too deeply. */
function jsonText(value: object): string | undefined {
  try {
    return JSON.stringify(copyJson(value));
  } catch {
    return undefined;
  }
}

function parsed(text: string): SessionMetadata {
  const value = valueIn(text);
  return isPlainObject(value) ? value : {};
}
