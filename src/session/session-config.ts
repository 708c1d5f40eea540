import * as z from "zod/mini";
import { ConfigurationError } from "../base/errors.js";
import { misspeltName, lazy, parseOptions, withoutUndefined } from "../base/options.js";
import type { HistoryIdentity } from "./history-identity.js";
import { checkOwnerName } from "./owner-name.js";
import { labelOf, type SessionNames } from "./session-labels.js";

/** What a run can be told about its session and its turn: the fields of `configurable` that every door reads. */
export interface SessionFields extends HistoryIdentity {
  /** The session. @default `configurable.thread_id` */
  readonly sessionId?: string;
  /** Names the turn: a second run with the same name gives the stored answer. @default the id of the user's message */
  readonly turnId?: string;
}

/**
 * A part of a run's config: spread it into the second argument of `invoke` or `stream`.
 * @example
 * import { sessionConfig, type SessionConfig } from "langchain-redis-memory";
 *
 * const session: SessionConfig = sessionConfig({ sessionId: "chat-7", owner: "user-1", title: "A trip to Oslo" });
 */
export interface SessionConfig {
  /** The fields that were given. */
  readonly configurable: SessionFields;
}

const fieldNames = ["sessionId", "turnId", "owner", "title", "metadata"] as const;

const schema = lazy(() =>
  z.strictObject(Object.fromEntries(fieldNames.map((name) => [name, z.optional(z.unknown())]))),
);

/**
 * The config of a run, from what is known of its session and turn: typed, and checked at once. Chains, agents and
 * `ChatMemoryModule` take it; `title` and `metadata` are given to a session that never had any.
 *
 * @throws ConfigurationError naming the field; for an unknown one with the name that was probably meant.
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
  const given = withoutUndefined(parseOptions("sessionConfig", schema(), fields));
  const { sessionId } = given;
  if (sessionId !== undefined) {
    checkText("sessionConfig: sessionId", "sessionId", sessionId);
  }
  readRunNames(given, "sessionConfig");
  return { configurable: given };
}

/** What a run says of its turn and its session. */
export interface RunNames {
  readonly turnId: string | undefined;
  readonly owner: { readonly owner?: string };
  readonly label: SessionNames;
}

/**
 * What `configurable` says besides the session's id. `user` is the door; `namesSession` is true where the door is told
 * its session otherwise, so that a field that looks like `sessionId` is the application's own.
 *
 * @throws ConfigurationError for a value that cannot be used, and for a field that is one letter or the case of its
 *   letters away from one that is read: its value would be ignored.
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

/** A field beside the one that it looks like is the application's own, unless only the case of letters differs. */
function refuseNearMisses(configurable: Readonly<Record<string, unknown>>, user: string, namesSession: boolean): void {
  const given = new Set(Object.keys(configurable));
  for (const field of given) {
    const meant = meantBy(field);
    if (meant === undefined || (meant === "sessionId" && namesSession)) {
      continue;
    }
    const isGiven = given.has(meant) || (meant === "sessionId" && given.has("thread_id"));
    if (!isGiven || meant.toLowerCase() === field.toLowerCase()) {
      throw new ConfigurationError(
        field,
        `${user}: configurable.${field} is not read; did you mean "${meant}"? ` +
          `A field of your own that is named so needs "${meant}" beside it, which may be undefined.`,
      );
    }
  }
}

/** The field that a name stands for that nobody reads; undefined for a field that is read, and for any other. */
function meantBy(field: string): (typeof fieldNames)[number] | undefined {
  const known: readonly string[] = fieldNames;
  return known.includes(field) ? undefined : misspeltName(field, fieldNames, { most: 1 });
}
