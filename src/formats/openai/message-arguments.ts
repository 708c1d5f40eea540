import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { anyText, lazy, nonNegativeInteger, parseOptions, type SchemaOutput } from "../../base/options.js";
import { nonEmpty, noteFields, roleSchema, toolCallsSchema } from "./message-schema.js";

/** Tool calls that the caller makes: at least one, with different ids. */
const newCallsSchema = lazy(() =>
  toolCallsSchema()
    .check(z.minLength(1, "must hold at least one tool call"))
    .check((context) => {
      const seen = new Set<string>();
      context.value.forEach(({ id }, index) => {
        if (id === "" || seen.has(id)) {
          context.issues.push({
            code: "custom",
            message: id === "" ? "must not be empty" : "must differ from the ids before it",
            path: [index, "id"],
            input: id,
          });
        }
        seen.add(id);
      });
    }),
);

const schemas = {
  messages: lazy(() => z.object({ messages: z.array(z.unknown(), "must be an array of messages") })),
  prompt: lazy(() => z.object({ prompt: anyText() })),
  notes: lazy(() => z.strictObject(noteFields())),
  toolCallNotes: lazy(() => z.omit(z.strictObject(noteFields()), { name: true })),
  toolCalls: lazy(() => z.object({ toolCalls: newCallsSchema() })),
  toolCallId: lazy(() => z.object({ toolCallId: nonEmpty() })),
  role: lazy(() => z.object({ role: roleSchema() })),
};

/** Checks an argument of a method of `MessageHistory`. @throws ConfigurationError naming the argument. */
export function checkArgument<K extends keyof typeof schemas>(
  owner: string,
  kind: K,
  value: unknown,
): SchemaOutput<(typeof schemas)[K]> {
  return parseOptions(owner, schemas[kind](), value) as SchemaOutput<(typeof schemas)[K]>;
}

/** Checks notes. @throws ConfigurationError naming the field, also for a name that is given by itself. */
export function checkNotes(owner: string, notes: unknown): void {
  if (typeof notes === "string") {
    throw new ConfigurationError("notes", `${owner}: give the name as { name } after the content.`);
  }
  checkArgument(owner, "notes", notes);
}

/** Checks a mark. @throws ConfigurationError unless it is from 0 to `latest`. */
export function checkMark(owner: string, mark: number, latest: number): void {
  parseOptions(
    owner,
    z.object({ mark: nonNegativeInteger().check(z.maximum(latest, "must be a mark of this history")) }),
    { mark },
  );
}
