/** OpenAI's answer to a request that it refuses with status 400: the object under `error`. */
export interface ChatCompletionRefusal {
  /** The reason, in the service's words. */
  readonly message: string;
  /** The same for every refusal. */
  readonly type: "invalid_request_error";
  /** The part of the request, such as `messages[1].role`; null where no single part is at fault. */
  readonly param: string | null;
  /** The service's word for the reason, such as `invalid_type`; null where it has none. */
  readonly code: string | null;
}

/** Thrown by the checks of a request to stop at the first error, as the service does. */
export class Refused extends Error {
  readonly refusal: ChatCompletionRefusal;

  constructor(
    message: string,
    { param = null, code = null }: { readonly param?: string | null; readonly code?: string | null } = {},
  ) {
    super(message);
    this.refusal = { message, type: "invalid_request_error", param, code };
  }
}

/** For a missing value. */
export function missing(param: string): Refused {
  return new Refused(`Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
}

/** For a value of the wrong type. `expected` is in the service's words, such as `a string`. */
export function wrongType(
  param: string,
  { expected, got }: { readonly expected: string; readonly got: unknown },
): Refused {
  const message = `Invalid type for '${param}': expected ${expected}, but got ${describe(got)} instead.`;
  return new Refused(message, { param, code: "invalid_type" });
}

/** For a value that is not one of the supported values. */
export function unknownValue(
  param: string,
  { value, supported }: { readonly value: string; readonly supported: readonly string[] },
): Refused {
  return new Refused(`Invalid value: '${value}'. Supported values are: ${enumerate(supported)}.`, {
    param,
    code: "invalid_value",
  });
}

/** For an empty array that needs at least one element. */
export function emptyArray(param: string): Refused {
  const message =
    `Invalid '${param}': empty array. ` + "Expected an array with minimum length 1, but got an empty array instead.";
  return new Refused(message, { param, code: "empty_array" });
}

/** For an empty string that needs at least one character. */
export function emptyString(param: string): Refused {
  const message =
    `Invalid '${param}': empty string. ` + "Expected a string with minimum length 1, but got an empty string instead.";
  return new Refused(message, { param, code: "empty_string" });
}

/** For a string that is too long. */
export function tooLong(
  param: string,
  { length, maximum }: { readonly length: number; readonly maximum: number },
): Refused {
  const message =
    `Invalid '${param}': string too long. ` +
    `Expected a string with maximum length ${maximum}, but got a string with length ${length} instead.`;
  return new Refused(message, { param, code: "string_above_max_length" });
}

/** For a string with characters that are not accepted. */
export function wrongPattern(param: string, pattern: string): Refused {
  const message =
    `Invalid '${param}': string does not match pattern. ` + `Expected a string that matches the pattern '${pattern}'.`;
  return new Refused(message, { param, code: "invalid_value" });
}

function enumerate(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`);
  return quoted.length < 3 ? quoted.join(" and ") : `${quoted.slice(0, -1).join(", ")}, and ${quoted.at(-1)}`;
}

function describe(value: unknown): string {
  if (value === null) {
    return "null";
  }
  if (typeof value === "number") {
    return Number.isInteger(value) ? "an integer" : "a decimal number";
  }
  return Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
