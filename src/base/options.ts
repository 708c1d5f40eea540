import * as z from "zod/mini";
import { ConfigurationError } from "./errors.js";

/**
 * Calls `build` on first use and caches the result. Building schemas would dominate the import time, and most programs
 * use few.
 */
export function lazy<T extends object>(build: () => T): () => T {
  let built: T | undefined;
  return () => (built ??= build());
}

/** The options that a schema made by {@link lazy} returns. */
export type SchemaOutput<S extends () => z.core.$ZodType> = z.output<ReturnType<S>>;

/** A whole number of at least 1. */
export const positiveInteger = lazy(() =>
  z.int("must be a positive integer").check(z.minimum(1, "must be a positive integer")),
);

/** A whole number of at least 0. */
export const nonNegativeInteger = lazy(() =>
  z.int("must be an integer of 0 or more").check(z.minimum(0, "must be an integer of 0 or more")),
);

/** A share between 0 and 1, both included. */
export const fraction = lazy(() =>
  z
    .number("must be a number from 0 to 1")
    .check(z.minimum(0, "must be a number from 0 to 1"))
    .check(z.maximum(1, "must be a number from 0 to 1")),
);

/** Time to live of what is stored, after its last write. */
export interface TimeToLive {
  readonly ms: number;
  /** Whether reads extend it too. */
  readonly refreshOnRead: boolean;
}

/** Time to live after the last write, in seconds, at least 1; with `refreshOnRead`, reads extend it, too. */
export type TTL =
  | number
  | {
      /** Seconds to live. */
      readonly seconds: number;
      /** Whether reads extend it, too. @default false */
      readonly refreshOnRead?: boolean;
    };

/** A {@link TTL}. */
export const timeToLive = lazy(() =>
  z.pipe(
    z.union(
      [
        positiveInteger(),
        z.strictObject({
          seconds: positiveInteger(),
          refreshOnRead: z._default(z.boolean("must be true or false"), false),
        }),
      ],
      "must be a positive integer, or { seconds, refreshOnRead }",
    ),
    z.transform((ttl): TimeToLive => {
      const { seconds, refreshOnRead } = typeof ttl === "number" ? { seconds: ttl, refreshOnRead: false } : ttl;
      return { ms: seconds * 1_000, refreshOnRead };
    }),
  ),
);

/** An object of options; `form` says in an error what it must be. */
export const objectOf = <Shape extends z.core.$ZodShape>(shape: Shape, form: string) =>
  z.strictObject(shape, { error: ({ code }) => (code === "unrecognized_keys" ? undefined : `must be ${form}`) });

/** Any text. */
export const anyText = lazy(() => z.string("must be a string"));

/** A text that is not empty. */
export const nonEmptyText = lazy(() =>
  z.string("must be a non-empty string").check(z.minLength(1, "must be a non-empty string")),
);

/** Any function; its parameters and result are not checked. */
export const anyFunction = <T>() => z.custom<T>((value) => typeof value === "function", "must be a function");

/**
 * A listener, which may be async: a rejection is thrown at its next call, as if it had thrown there, and never ends the
 * process.
 */
export const listener = <Told>() =>
  z.pipe(
    anyFunction<Listener<Told>>(),
    z.transform((listen: Listener<Told>) => {
      let failure: { readonly error: unknown } | undefined;
      return (told: Told): void => {
        if (failure !== undefined) {
          throw failure.error;
        }
        const result: unknown = listen(told);
        if (result instanceof Promise) {
          result.catch((error: unknown) => (failure = { error }));
        }
      };
    }),
  );

/** Called with what is to be told; an async function does, too. */
type Listener<Told> = (told: Told) => void;

/**
 * An object with the named methods. Instances are recognized by their methods, because their class may come from
 * another copy of a package.
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
 * Validates options and returns them with defaults. A strict schema rejects unknown options.
 *
 * @throws ConfigurationError with the first invalid option and its value, and a suggestion for an unknown option or
 *   misspelt word. Strings are shown only if an enum or a number was expected: others may be secret.
 */
export function parseOptions<S extends z.core.$ZodType, Options>(
  owner: string,
  schema: S,
  options: Options & Checked<Options, z.input<S>>,
): z.output<S> {
  const result = checked(owner, schema, options);
  if (result.success) {
    return result.data;
  }
  const first = firstToMend(result.error.issues, options);
  const issue = withinUnion(first, valueAt(options, first.path));
  if (issue.code === "unrecognized_keys") {
    const option = [...issue.path, issue.keys[0]!].map(String).join(".");
    throw new ConfigurationError(option, `${owner}: there is no option "${shortened(option)}"; ${issue.message}`);
  }
  const option = issue.path.map(String).join(".") || "options";
  const received = describe(valueAt(options, issue.path), issue);
  throw new ConfigurationError(option, `${owner}: option "${option}" ${reason(issue.message)}; got ${received}`);
}

/** Names the options of a type that its schema lacks: it would refuse them. */
type Checked<Options, Input> = Options extends object
  ? [Exclude<keyof Options, keyof Input>] extends [never]
    ? unknown
    : { readonly "options that the schema lacks": Exclude<keyof Options, keyof Input> }
  : unknown;

/** Prefers an unknown option over a missing one: it may be the missing one, misspelt. */
function firstToMend(issues: readonly z.core.$ZodIssue[], options: unknown): z.core.$ZodIssue {
  const [first] = issues;
  const isMissing = first!.path.length > 0 && valueAt(options, first!.path) === undefined;
  const misnamed = isMissing ? issues.find(({ code }) => code === "unrecognized_keys") : undefined;
  return misnamed ?? first!;
}

/** The issue inside the form of an option that was meant: it says more than "must be a, b or { c }". */
function withinUnion(issue: z.core.$ZodIssue, value: unknown): z.core.$ZodIssue {
  if (issue.code !== "invalid_union") {
    return issue;
  }
  const forms = issue.errors.flatMap((issues) => (issues.length > 0 ? [firstToMend(issues, value)] : []));
  const inside = forms.find(({ code, path }) => code === "unrecognized_keys" || path.length > 0);
  if (inside !== undefined) {
    return { ...withinUnion(inside, valueAt(value, inside.path)), path: [...issue.path, ...inside.path] };
  }
  const words = forms.find(({ code }) => code === "invalid_value");
  return words === undefined ? issue : { ...words, path: issue.path, message: issue.message };
}

/** Removes undefined options, which would override a default. */
export function withoutUndefined<T extends object>(options: T): WithoutUndefined<T> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as unknown as WithoutUndefined<T>;
}

/** All fields of a type, also the optional ones, each of which may be undefined. */
export type EachOf<T> = { readonly [K in keyof Required<T>]: T[K] };

/** Turns properties that may be undefined into optional ones. */
type WithoutUndefined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

function checked<S extends z.core.$ZodType>(
  owner: string,
  schema: S,
  options: unknown,
): z.core.util.SafeParseResult<z.output<S>> {
  try {
    return z.safeParse(schema, options, { error: adviceOnUnknownKey });
  } catch (error) {
    // Zod passes all issues as arguments of one call, and a call takes about a hundred thousand arguments.
    if (error instanceof RangeError) {
      throw new ConfigurationError("options", `${owner}: the options have too many errors to list.`);
    }
    throw error;
  }
}

// Only the error callback knows the nested schema that lacks the key.
function adviceOnUnknownKey(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== "unrecognized_keys") {
    return undefined;
  }
  const shape = issue.inst instanceof z.ZodMiniObject ? (issue.inst.shape as Fields) : {};
  const [written] = issue.keys as [string];
  const meant = misspeltName(written, Object.keys(shape)) ?? placeWithin(shape, written);
  return meant === undefined ? "remove it or check its spelling." : `did you mean "${meant}"?`;
}

type Fields = Readonly<Record<string, z.core.$ZodType>>;

/** The path of an option of this name in an object among the options. */
function placeWithin(shape: Fields, name: string): string | undefined {
  for (const [outer, field] of Object.entries(shape)) {
    const inner = objectIn(field)?.shape as Fields | undefined;
    const place = inner && (Object.hasOwn(inner, name) ? name : placeWithin(inner, name));
    if (place !== undefined) {
      return `${outer}.${place}`;
    }
  }
  return undefined;
}

/** The object of an optional field, or of one with a default. */
function objectIn(field: z.core.$ZodType): z.ZodMiniObject | undefined {
  // Not by their classes: a bundle would hold them, also where no option is one.
  const { type, innerType } = field._zod.def as z.core.$ZodOptionalDef | (z.core.$ZodTypeDef & { innerType?: never });
  if (innerType !== undefined && (type === "optional" || type === "prefault")) {
    return objectIn(innerType);
  }
  return field instanceof z.ZodMiniObject ? field : undefined;
}

/** A user-supplied name, truncated for log lines. */
function shortened(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name;
}

function reason(message: string): string {
  return message.startsWith("must ") ? message : `is invalid: ${message}`;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], root);
}

/** Describes the given value, as the end of the sentence. */
function describe(value: unknown, issue: z.core.$ZodIssue): string {
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") {
    return `${String(value)} (${typeof value}).`;
  }
  if (typeof value === "string") {
    return describeText(value, issue);
  }
  const isNone = value === null || value === undefined;
  return isNone ? `${value}.` : Array.isArray(value) ? "an array." : `a value of type ${typeof value}.`;
}

/** Shows a string only if an enum was expected (a misspelt word) or if it is a number in quotes: neither is secret. */
function describeText(text: string, issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_value") {
    return /^(-?\d{1,6}|true|false)$/.test(text) ? `"${text}" (string).` : "a value of type string.";
  }
  const meant = misspeltName(text, issue.values.map(String));
  const shown = JSON.stringify(shortened(text));
  return meant === undefined ? `${shown}.` : `${shown}; did you mean "${meant}"?`;
}

/**
 * Returns the name with the smallest case-insensitive edit distance, at most a third of its length and at most `most`.
 */
export function misspeltName<Name extends string>(
  written: string,
  names: readonly Name[],
  { most = Infinity }: { readonly most?: number } = {},
): Name | undefined {
  let nearest: Name | undefined;
  let fewest = Infinity;
  for (const name of names) {
    const allowed = Math.min(most, Math.max(1, Math.floor(name.length / 3)));
    // Also avoids the quadratic comparison of a huge key.
    if (Math.abs(name.length - written.length) > allowed) {
      continue;
    }
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance <= allowed && distance < fewest) {
      nearest = name;
      fewest = distance;
    }
  }
  return nearest;
}

/** Edit distance with transpositions of neighbours. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= a.length; row += 1) {
    const above = rows[row - 1]!;
    const line = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      let distance = Math.min(replaced, above[column]! + 1, line[column - 1]! + 1);
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        distance = Math.min(distance, rows[row - 2]![column - 2]! + 1);
      }
      line.push(distance);
    }
    rows.push(line);
  }
  return rows[a.length]![b.length]!;
}

/**
 * Lets `console.log` show an object as a text. In its constructor, because bundlers keep a class with a computed name
 * whether it is used or not.
 */
export function inspectedAs(target: object, text: () => string): void {
  Object.defineProperty(target, Symbol.for("nodejs.util.inspect.custom"), { value: text, configurable: true });
}
