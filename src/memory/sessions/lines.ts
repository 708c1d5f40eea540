import * as z from "zod/mini";
import { encodeHead } from "../../store/codec/stored-record.js";
import { ConfigurationError, ConflictError, MemoryError, RecordError } from "../../base/errors.js";
import { isRecord, valueIn } from "../../conversation/messages/message.js";
import { lazy, nonNegativeInteger, withoutUndefined } from "../../base/options.js";
import { maxReductions, type StoredReduction, type KeptState } from "../../store/contract/session-data.js";
import { maxUsageModels } from "../../store/contract/session-ref.js";
import { checkOwnerName, labelOf, type SessionNames } from "../session/identity.js";

/** A line of an export, parsed. `number` counts from 1. */
export interface ExportLine {
  readonly number: number;
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The error for an invalid line of an export. */
export function badLine(number: number, reason: string): RecordError {
  return new RecordError(`Line ${number} of the export cannot be imported: ${reason}.`, { code: "corrupt" });
}

/** The error for an import of what is there with other content; `finding` says what, and ends without a period. */
export function otherContent(finding: string, sessionId: string): ConflictError {
  const message = `${finding}; nothing was imported. Delete it first, or import into another key prefix.`;
  return new ConflictError(message, { code: "exists", sessionId });
}

/**
 * Parses a line.
 *
 * @throws RecordError `corrupt` for anything but a JSON object with a `type`; never quotes the line.
 */
export function parseLine(number: number, text: string): ExportLine {
  const value = valueIn(text);
  if (value === undefined) {
    throw badLine(number, "it is no JSON");
  }
  if (!isRecord(value) || typeof value["type"] !== "string") {
    throw badLine(number, 'it is no object with "type"');
  }
  const { type, ...fields } = value;
  return { number, type: type as string, fields };
}

/** Scripts treat larger positions as damage. */
const position = lazy(() => nonNegativeInteger().check(z.maximum(10_000_000_000_000, "is too large")));
const time = position;
const text = lazy(() => z.string("must be a string"));
const amount = lazy(() =>
  z.number("must be a number of 0 or more").check(z.minimum(0, "must be a number of 0 or more")),
);
const turnName = lazy(() =>
  z.string("must be the name of a turn").check(z.regex(/^[\w-]{14}$/, "must be the name of a turn")),
);
const mark = lazy(() =>
  z.object({
    ...{ name: turnName(), done: z.boolean("must be true or false"), first: position() },
    count: nonNegativeInteger().check(z.maximum(9_999_999, "is too large")),
  }),
);
const size = lazy(() => z.object({ messages: nonNegativeInteger(), tokens: z.optional(amount()) }, "must be a size"));
const modelUsage = lazy(() =>
  z.object({
    model: z.string("must be a string").check(z.regex(/^[^\t\n]*$/, "must not hold tabs or line feeds")),
    ...{ input: nonNegativeInteger(), output: nonNegativeInteger(), total: nonNegativeInteger() },
  }),
);

const schemas = {
  session: lazy(() =>
    z.object({
      ...{ sessionId: text(), owner: z.optional(text()), title: z.optional(text()), metadata: z.optional(z.unknown()) },
      ...{ createdAt: z.optional(time()), updatedAt: z.optional(time()), expiresAt: z.optional(time()) },
      damaged: z.optional(z.boolean()),
      ...{ base: position(), start: position(), rounds: position(), reductions: position() },
      ...{ tokens: z.optional(amount()), counter: z.optional(text()) },
      usage: z.optional(
        z.array(modelUsage(), "must be an array").check(z.maxLength(maxUsageModels + 1, "names too many models")),
      ),
    }),
  ),
  head: lazy(() => z.object({ record: z.optional(z.unknown()), text: z.optional(text()) })),
  side: lazy(() => z.object({ name: text(), value: z.unknown() })),
  reduction: lazy(() =>
    z.object({
      ...{ at: time(), start: nonNegativeInteger(), head: nonNegativeInteger(), before: size(), after: size() },
      maxTokens: z.optional(amount()),
    }),
  ),
  record: lazy(() => z.object({ position: position(), record: z.unknown(), turn: z.optional(mark()) })),
  thread: lazy(() =>
    z.object({
      ...{ threadId: text(), expiresAt: z.optional(time()) },
      ...{ fields: z.record(z.string(), text()), items: z.array(text()), members: z.array(text()) },
    }),
  ),
  item: lazy(() =>
    z.object({
      ...{ namespace: z.array(text()), key: text(), value: z.unknown() },
      ...{ createdAt: time(), updatedAt: time(), expiresAt: z.optional(time()), ttlAtReads: z.optional(time()) },
    }),
  ),
  end: lazy(() => z.object({ records: nonNegativeInteger() })),
} as const;

type Schemas = typeof schemas;

/**
 * The fields of a line of a type.
 *
 * @throws RecordError `corrupt`, naming the field; never quotes its value.
 */
export function fieldsOf<T extends keyof Schemas>(type: T, line: ExportLine): z.output<ReturnType<Schemas[T]>> {
  const result = schemas[type]().safeParse(line.fields);
  if (!result.success) {
    const { path, message } = result.error.issues[0]!;
    throw badLine(
      line.number,
      `"${path.map(String).join(".")}" ${message.startsWith("Invalid") ? "is wrong" : message}`,
    );
  }
  return result.data as z.output<ReturnType<Schemas[T]>>;
}

/** Collects the state of a session from the lines before its records. */
export class StateLines {
  readonly sessionId: string;
  readonly #state: Omit<KeptState, "head" | "headCount" | "side" | "reductions">;
  readonly #head: string[] = [];
  readonly #side = new Map<string, string>();
  readonly #reductions: StoredReduction[] = [];
  #headText: string | undefined;

  /** @throws RecordError `corrupt`. */
  constructor(line: ExportLine) {
    const { sessionId, title, metadata, reductions: reduced, owner, ...state } = fieldsOf("session", line);
    const { damaged: _, ...rest } = state;
    this.sessionId = sessionId;
    const names = { ...(title !== undefined && { title }), ...(metadata !== undefined && { metadata }) };
    const identity = orBadLine(line.number, () => {
      if (owner !== undefined) {
        checkOwnerName("sessions.import", owner);
      }
      return { ...(owner !== undefined && { owner }), label: labelOf("sessions.import", names as SessionNames) };
    });
    const hasLabel = Object.keys(names).length > 0;
    this.#state = withoutUndefined({ ...rest, ...identity, hasLabel, reduced });
  }

  /** Adds a line; false for one that does not belong to the state. */
  add(line: ExportLine): boolean {
    switch (line.type) {
      case "head":
        this.#addHead(line);
        return true;
      case "side": {
        const { name, value } = fieldsOf("side", line);
        this.#side.set(name, requireText(line, "value", value));
        return true;
      }
      case "reduction":
        if (this.#reductions.push(fieldsOf("reduction", line) as StoredReduction) > maxReductions) {
          throw badLine(line.number, `a session has at most ${maxReductions} lines of this type`);
        }
        return true;
      default:
        return false;
    }
  }

  /** @throws RecordError `corrupt` for an invalid head. */
  state(number: number): KeptState {
    const head = this.#headText ?? orBadLine(number, () => encodeHead(this.#head));
    return {
      ...this.#state,
      head,
      headCount: this.#headText === undefined ? this.#head.length : 1,
      side: Object.fromEntries(this.#side),
      reductions: this.#reductions,
    };
  }

  #addHead(line: ExportLine): void {
    const { record, text: whole } = fieldsOf("head", line);
    if (whole !== undefined) {
      this.#headText = whole;
    } else {
      this.#head.push(requireText(line, "record", record));
    }
  }
}

/** The text of a field that is exported as an object or verbatim. @throws RecordError `corrupt` for another value. */
export function requireText(line: ExportLine, field: string, value: unknown): string {
  if (typeof value !== "string" && !isRecord(value) && !Array.isArray(value)) {
    throw badLine(line.number, `"${field}" must be an object, an array or a string`);
  }
  return typeof value === "string" ? value : orBadLine(line.number, () => JSON.stringify(value));
}

/** The result of `work`, whose errors become those of a line. @throws RecordError `corrupt`. */
export function orBadLine<T>(number: number, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (ConfigurationError.isInstance(error) || RecordError.isInstance(error)) {
      throw badLine(number, error.message.replace(/\.$/, ""));
    }
    throw MemoryError.isInstance(error) ? error : badLine(number, "it cannot be read");
  }
}
