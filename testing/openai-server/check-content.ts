import { emptyArray, missing, Refused, unknownValue, wrongType } from "./refusal.js";

/** The types of content parts that each role may use. */
const partsOf: Readonly<Record<string, readonly string[]>> = {
  system: ["text"],
  developer: ["text"],
  user: ["text", "image_url", "input_audio", "file"],
  assistant: ["text", "refusal"],
  tool: ["text"],
  function: [],
};

/** Throws unless the content of a message has the shape that the service requires. */
export function checkContent(
  message: Record<string, unknown>,
  { role, index }: { readonly role: string; readonly index: number },
): void {
  const { content } = message;
  const param = `messages[${index}].content`;
  if (content === undefined || content === null) {
    const isOptional =
      role === "assistant" &&
      ["tool_calls", "function_call", "refusal", "audio"].some(
        (key) => message[key] !== undefined && message[key] !== null,
      );
    if (!isOptional) {
      // The service writes only this path with a dot.
      throw new Refused("Invalid value for 'content': expected a string, got null.", {
        param: `messages.[${index}].content`,
      });
    }
    return;
  }
  if (typeof content === "string") {
    return;
  }
  if (!Array.isArray(content)) {
    throw wrongType(param, { expected: "one of a string or array of objects", got: content });
  }
  if (content.length === 0) {
    throw emptyArray(param);
  }
  content.forEach((part, place) => checkPart(part, { role, param: `${param}[${place}]` }));
}

function checkPart(part: unknown, { role, param }: { readonly role: string; readonly param: string }): void {
  if (typeof part !== "object" || part === null || Array.isArray(part)) {
    throw wrongType(param, { expected: "an object", got: part });
  }
  const fields = part as Record<string, unknown>;
  const { type } = fields;
  if (type === undefined) {
    throw missing(`${param}.type`);
  }
  const supported = partsOf[role]!;
  if (typeof type !== "string" || !supported.includes(type)) {
    throw unknownValue(`${param}.type`, { value: String(type), supported });
  }
  const value = fields[type];
  if (value === undefined) {
    throw missing(`${param}.${type}`);
  }
  if (type === "text" || type === "refusal") {
    if (typeof value !== "string") {
      throw wrongType(`${param}.${type}`, { expected: "a string", got: value });
    }
    return;
  }
  if (typeof value !== "object" || value === null) {
    throw wrongType(`${param}.${type}`, { expected: "an object", got: value });
  }
  if (type === "image_url" && typeof (value as Record<string, unknown>)["url"] !== "string") {
    throw missing(`${param}.image_url.url`);
  }
}
