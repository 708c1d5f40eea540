import { checkContent } from "./check-content.js";
import { emptyArray, emptyString, missing, tooLong, unknownValue, wrongPattern, wrongType } from "./refusal.js";

const roles = ["system", "assistant", "user", "function", "tool", "developer"];
const maxCallIdLength = 40;
const maxNameLength = 64;

/** Throws unless a message by itself has the shape that the service requires. */
export function checkMessage(message: unknown, index: number): void {
  const param = `messages[${index}]`;
  if (typeof message !== "object" || message === null || Array.isArray(message)) {
    throw wrongType(param, { expected: "an object", got: message });
  }
  const fields = message as Record<string, unknown>;
  const { role, name, tool_calls: calls, tool_call_id: callId } = fields;
  if (role === undefined) {
    throw missing(`${param}.role`);
  }
  if (typeof role !== "string" || !roles.includes(role)) {
    throw unknownValue(`${param}.role`, { value: String(role), supported: roles });
  }
  checkContent(fields, { role, index });
  if (name !== undefined) {
    checkName(name, `${param}.name`);
  }
  if (role === "assistant" && calls !== undefined) {
    checkCalls(calls, `${param}.tool_calls`);
  }
  if (role === "tool") {
    checkCallId(callId, `${param}.tool_call_id`);
  }
}

function checkCalls(calls: unknown, param: string): void {
  if (!Array.isArray(calls)) {
    throw wrongType(param, { expected: "an array of objects", got: calls });
  }
  if (calls.length === 0) {
    throw emptyArray(param);
  }
  calls.forEach((call, place) => checkCall(call, `${param}[${place}]`));
}

function checkCall(call: unknown, param: string): void {
  if (typeof call !== "object" || call === null) {
    throw wrongType(param, { expected: "an object", got: call });
  }
  const { id, type, function: called } = call as Record<string, unknown>;
  checkCallId(id, `${param}.id`);
  if (type === undefined) {
    throw missing(`${param}.type`);
  }
  if (type !== "function") {
    throw unknownValue(`${param}.type`, { value: String(type), supported: ["function"] });
  }
  if (typeof called !== "object" || called === null) {
    throw missing(`${param}.function`);
  }
  const { name, arguments: given } = called as Record<string, unknown>;
  checkName(name, `${param}.function.name`);
  if (given === undefined) {
    throw missing(`${param}.function.arguments`);
  }
  if (typeof given !== "string") {
    throw wrongType(`${param}.function.arguments`, { expected: "a string", got: given });
  }
}

function checkCallId(id: unknown, param: string): void {
  const text = requireString(id, param);
  if (text.length > maxCallIdLength) {
    throw tooLong(param, { length: text.length, maximum: maxCallIdLength });
  }
}

function checkName(name: unknown, param: string): void {
  const text = requireString(name, param);
  if (text.length > maxNameLength) {
    throw tooLong(param, { length: text.length, maximum: maxNameLength });
  }
  if (!/^[a-zA-Z0-9_-]+$/.test(text)) {
    throw wrongPattern(param, "^[a-zA-Z0-9_-]+$");
  }
}

function requireString(value: unknown, param: string): string {
  if (value === undefined) {
    throw missing(param);
  }
  if (typeof value !== "string") {
    throw wrongType(param, { expected: "a string", got: value });
  }
  if (value === "") {
    throw emptyString(param);
  }
  return value;
}
