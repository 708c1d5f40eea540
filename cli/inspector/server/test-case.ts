import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../../../src/conversation/messages/message.js";
import { jsonText } from "../../../src/base/json-text.js";
import { UsageError } from "../../failure.js";
import { printable } from "../../printable.js";
import type { TestCase } from "../model/data.js";

const longestCode = 5_000_000;

/** The class of each type, and the fields that its constructor takes, in this order. */
const constructors: Readonly<Record<string, readonly [className: string, fields: readonly string[]]>> = {
  system: ["SystemMessage", []],
  human: ["HumanMessage", []],
  ai: ["AIMessage", ["tool_calls", "invalid_tool_calls", "usage_metadata"]],
  tool: ["ToolMessage", ["tool_call_id", "status", "artifact", "metadata"]],
  function: ["FunctionMessage", []],
  generic: ["ChatMessage", ["role"]],
};

/**
 * Messages as TypeScript that makes equal messages, to be pasted into a test.
 *
 * @throws UsageError where the code would have more than five million characters, or a value is nested too deeply.
 */
export function testCaseOf(messages: readonly BaseMessage[]): TestCase {
  const lines: string[] = [];
  const classes = new Set<string>();
  let length = 0;
  for (const message of messages) {
    const [name, fields] = constructors[message.getType()] ?? constructors["generic"]!;
    classes.add(name);
    const line = `  new ${name}(${codeOf(fieldsIn(message, fields))}),`;
    length += line.length;
    if (length > longestCode) {
      throw new UsageError("These messages are too long to be copied as code. Export the session instead.");
    }
    lines.push(line);
  }
  const names = [...classes].sort().join(", ");
  const head = classes.size === 0 ? [] : [`import { ${names} } from "@langchain/core/messages";`, ""];
  const code = [...head, `export const messages = [`, ...lines, "];", ""].join("\n");
  // Code that reads as it does: what nobody sees stands in literals only, as escapes.
  return { code: printable(code, { lines: true }), messages: messages.length };
}

function codeOf(fields: Record<string, unknown>): string {
  try {
    return literal(fields, "  ");
  } catch (error) {
    // Out of stack, or of the longest text that there can be.
    if (!(error instanceof RangeError)) {
      throw error;
    }
    throw new UsageError("A value in these messages is nested too deeply to be copied as code. Export the session.");
  }
}

function fieldsIn(message: BaseMessage, own: readonly string[]): Record<string, unknown> {
  const names = ["id", "name", "content", ...own, "additional_kwargs", "response_metadata"];
  const values = message as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = values[name];
      const isEmpty = name !== "content" && typeof value === "object" && value !== null && noneIn(value);
      return value === undefined || isEmpty ? [] : [[name, value]];
    }),
  );
}

function noneIn(value: object): boolean {
  return Object.keys(value).length === 0;
}

/** A value as code. JSON is TypeScript, but for names that need no quotes. */
function literal(value: unknown, indent: string): string {
  const inner = `${indent}  `;
  if (value instanceof Uint8Array) {
    return `Uint8Array.from([${value.join(", ")}])`;
  }
  if (typeof value === "bigint") {
    return `${value}n`;
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => `${inner}${literal(item, inner)},\n`);
    return items.length === 0 ? "[]" : `[\n${items.join("")}${indent}]`;
  }
  if (isRecord(value) && isPlain(value)) {
    const entries = Object.entries(value).filter(([, field]) => field !== undefined);
    const fields = entries.map(([name, field]) => `${inner}${nameOf(name)}: ${literal(field, inner)},\n`);
    return fields.length === 0 ? "{}" : `{\n${fields.join("")}${indent}}`;
  }
  return jsonText(value) ?? "undefined";
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** `__proto__` in quotes would still set the prototype; in brackets it is a name like any other. */
function nameOf(name: string): string {
  if (name === "__proto__") {
    return '["__proto__"]';
  }
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}
