import { z } from "zod";
import { ConfigurationError } from "./errors.js";

/**
 * What `build` gives, built at the first call and kept. Schemas take longer to build than all else that an import of
 * this package runs, and most programs use few of them.
 */
export function lazy<T extends object>(build: () => T): () => T {
  let built: T | undefined;
  return () => (built ??= build());
}

/** The options that a schema made by {@link lazy} gives. */
export type SchemaOutput<S extends () => z.ZodType> = z.output<ReturnType<S>>;

/** A whole number of at least 1. */
export const positiveInteger = z.int("must be a positive integer").min(1, "must be a positive integer");

/** A whole number of at least 0. */
export const nonNegativeInteger = z.int("must be an integer of 0 or more").min(0, "must be an integer of 0 or more");

/** A share between 0 and 1, both included. */
export const fraction = z
  .number("must be a number from 0 to 1")
  .min(0, "must be a number from 0 to 1")
  .max(1, "must be a number from 0 to 1");

/** Any text. */
export const anyText = lazy(() => z.string("must be a string"));

/** A text that is not empty. */
export const nonEmptyText = lazy(() => z.string("must be a non-empty string").min(1, "must be a non-empty string"));

/** Any function; what it takes and returns is the type's business. */
export const anyFunction = <T>() => z.custom<T>((value) => typeof value === "function", "must be a function");

/**
 * An object with the named methods: how instances are recognized, since classes may come from another copy of a
 * package.
 */
export const objectWith = <T>(methods: readonly string[], description: string) =>
  z.custom<T>(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      methods.every((method) => typeof (value as Record<string, unknown>)[method] === "function"),
    `must be ${description}`,
  );

/**
 * The options, checked against a schema; unknown options are refused where the schema is strict.
 *
 * @throws ConfigurationError naming the first option that does not fit. Strings are never shown: one may be a secret.
 */
export function parseOptions<S extends z.ZodType>(owner: string, schema: S, options: unknown): z.output<S> {
  const result = checked(owner, schema, options);
  if (result.success) {
    return result.data;
  }
  const issue = result.error.issues[0]!;
  if (issue.code === "unrecognized_keys") {
    const option = issue.keys[0]!;
    throw new ConfigurationError(option, `${owner}: "${option}" is not an option; remove it or check its spelling.`);
  }
  const option = issue.path.map(String).join(".") || "options";
  const received = describe(valueAt(options, issue.path));
  throw new ConfigurationError(option, `${owner}: option "${option}" ${reason(issue.message)}; got ${received}.`);
}

/** The options without those that are undefined, which would hide a default. */
export function withoutUndefined<T extends object>(options: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

function checked<S extends z.ZodType>(owner: string, schema: S, options: unknown): z.ZodSafeParseResult<z.output<S>> {
  try {
    return schema.safeParse(options);
  } catch (error) {
    // Zod passes all it finds on as arguments of one call, which takes a hundred thousand of them at most.
    if (error instanceof RangeError) {
      throw new ConfigurationError("options", `${owner}: there is more wrong with what was given than can be named.`);
    }
    throw error;
  }
}

function reason(message: string): string {
  return message.startsWith("must ") ? message : `is invalid: ${message}`;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], root);
}

function describe(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") {
    return `${String(value)} (${typeof value})`;
  }
  return value === null ? "null" : Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}
