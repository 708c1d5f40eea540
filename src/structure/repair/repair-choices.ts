import { ConfigurationError } from "../../errors.js";

/** What a repair does where there is more than one way. */
export interface RepairChoices {
  /**
   * A call without result: `fill` adds a result with status `error` that says so, `drop` removes the call.
   * @default "fill"
   */
  readonly missingResults: "fill" | "drop";
  /**
   * The text of a result that is added.
   * @default "No result: the call was interrupted, and whether it had an effect is unknown."
   */
  readonly missingResultText: string;
  /**
   * A message of the model that says nothing: `drop` removes it, `fill` gives it a text in brackets. The user's
   * messages and tool results are always filled, empty system messages always removed. @default "drop"
   */
  readonly emptyMessages: "drop" | "fill";
  /** A system message behind others: `move` puts it at the front, `drop` removes it. @default "move" */
  readonly systemMessages: "move" | "drop";
  /**
   * Messages before the user's first: `fill` puts a user's message in brackets before them, `drop` removes them.
   * @default "fill"
   */
  readonly leadingMessages: "fill" | "drop";
  /**
   * The model's messages at the end where the model is to answer: `keep` leaves them, and rule S05 broken, because only
   * the application knows what the user would say; `drop` removes them. @default "keep"
   */
  readonly trailingMessages: "keep" | "drop";
  /**
   * A message of a role that the provider does not know: `user` makes it the user's, `drop` removes it.
   * @default "user"
   */
  readonly unknownRoles: "user" | "drop";
}

const allowed: Readonly<Record<Exclude<keyof RepairChoices, "missingResultText">, readonly string[]>> = {
  missingResults: ["fill", "drop"],
  emptyMessages: ["drop", "fill"],
  systemMessages: ["move", "drop"],
  leadingMessages: ["fill", "drop"],
  trailingMessages: ["keep", "drop"],
  unknownRoles: ["user", "drop"],
};

/** The choices with their defaults. @throws ConfigurationError */
export function resolveChoices(choices: Partial<RepairChoices>): RepairChoices {
  for (const [option, values] of Object.entries(allowed) as [keyof typeof allowed, readonly string[]][]) {
    const value = choices[option];
    if (value !== undefined && !values.includes(value)) {
      throw new ConfigurationError(option, `Option "${option}" must be one of ${values.join(", ")}.`);
    }
  }
  const { missingResultText = "No result: the call was interrupted, and whether it had an effect is unknown." } =
    choices;
  if (typeof missingResultText !== "string" || missingResultText.trim() === "") {
    throw new ConfigurationError("missingResultText", `Option "missingResultText" must be a text that is not blank.`);
  }
  return {
    missingResults: choices.missingResults ?? "fill",
    missingResultText,
    emptyMessages: choices.emptyMessages ?? "drop",
    systemMessages: choices.systemMessages ?? "move",
    leadingMessages: choices.leadingMessages ?? "fill",
    trailingMessages: choices.trailingMessages ?? "keep",
    unknownRoles: choices.unknownRoles ?? "user",
  };
}
