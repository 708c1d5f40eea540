import * as z from "zod/mini";
import { ConfigurationError } from "../base/errors.js";

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
export interface SessionRequest<Run> {
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
  const found = typeof named === "function" ? (named as (run: Run) => unknown)(run) : named;
  if (typeof found === "number" || typeof found === "bigint") {
    throw new ConfigurationError(
      "sessionId",
      `${owner}: the session id is a number; pass it as a string, such as String(id).`,
    );
  }
  if (typeof found !== "string" || found === "") {
    throw new ConfigurationError("sessionId", `${owner}: the run names no session; ${hint}.`);
  }
  return found;
}
