import * as z from "zod/mini";
import { ConfigurationError } from "../base/errors.js";

/** A session's id, or how to find it in what a run is given. */
export type SessionIdOption<Run> = string | ((run: Run) => string | undefined);

/** The schema of the option; `run` is the word for what its function takes. */
export const sessionIdSchema = <Run>(run: string) =>
  z.optional(
    z.custom<SessionIdOption<Run>>(
      (value) => typeof value === "function" || (typeof value === "string" && value !== ""),
      `must be a non-empty string or a function of the ${run}`,
    ),
  );

/** A run that is to name its session. */
export interface SessionRequest<Run> {
  /** The option, else what the run's config names. */
  readonly named: unknown;
  /** What the option's function takes. */
  readonly run: Run;
  /** Who asks, and where an id can be given: for the error's text. */
  readonly owner: string;
  readonly hint: string;
}

/**
 * The id of a run's session.
 *
 * @throws ConfigurationError when the run names none, or names it by a number.
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
