import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { changeMessage } from "../messages/change-message.js";
import { textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";
import { isRecord } from "../messages/values.js";

/** What is known of langchain's strategies, and of a zod schema, which is one too. */
interface Strategy {
  parse?(value: unknown): unknown;
}

type Structured = Record<string, unknown>;

/** What a request says of the agent's structured response. */
export interface ResponseFormat {
  /** The format, or several; undefined for an agent without one, and where older versions of langchain do not tell. */
  readonly responseFormat?: unknown;
  readonly tools?: readonly unknown[];
}

/** A model request's outcome where the agent has a structured response. */
interface StructuredOutcome {
  readonly messages: readonly BaseMessage[];
  readonly structuredResponse: Structured | undefined;
}

/** How the tools are named that langchain makes of schemas without a name. */
const madeName = "extract-";
/** What langchain has the agent say at the end, unless it is told something else. */
const lastWords = "Returning structured response: ";

/**
 * The structured response that a stored answer gave: the result of its call of the response's tool, else the JSON text
 * of its last message, as the agent's response format reads it. Undefined where the agent has none.
 */
export function structuredAnswer(answer: readonly BaseMessage[], request: ResponseFormat): Structured | undefined {
  const { responseFormat } = request;
  const last = answer.at(-1);
  if (last === undefined || ("responseFormat" in request && responseFormat === undefined)) {
    return undefined;
  }
  const result = toolResult(answer, request);
  if (result !== undefined || responseFormat === undefined) {
    return result;
  }
  const formats = (Array.isArray(responseFormat) ? responseFormat : [responseFormat]) as (Strategy | undefined)[];
  const value = jsonIn(textOf(last));
  // A schema reads the value, and a provider's strategy reads the message.
  return value === undefined ? undefined : (readBy(formats[0], [value, last]) ?? value);
}

/**
 * The outcome as an AI message that holds it, which every version of langchain takes from a middleware: 1.0 takes
 * nothing else, not even what its own model request gives.
 */
export function asAnswer({ messages, structuredResponse }: StructuredOutcome): AIMessage {
  const last = messages.findLast((message): message is AIMessage => roleOf(message) === "ai") ?? new AIMessage("");
  return Object.assign(changeMessage(last, {}), { messages, structuredResponse });
}

/** True for what langchain's model request gives where the agent has a structured response. */
export function isStructured(response: unknown): response is StructuredOutcome {
  return isRecord(response) && "structuredResponse" in response && Array.isArray(response["messages"]);
}

/** Langchain ends with the call of a tool that is not the agent's, the value as its result, and a few words. */
function toolResult(answer: readonly BaseMessage[], request: ResponseFormat): Structured | undefined {
  const [asking, result, said] = answer.slice(-3);
  if (asking === undefined || result === undefined || said === undefined || roleOf(result) !== "tool") {
    return undefined;
  }
  const calls = (asking as AIMessage).tool_calls ?? [];
  const call = calls.find(({ id }) => id === (result as ToolMessage).tool_call_id);
  const text = textOf(result);
  const isKnown = request.responseFormat !== undefined || textOf(said) === `${lastWords}${text}`;
  const isOfAgent = request.tools?.some((tool) => (tool as { readonly name?: unknown }).name === call?.name) ?? false;
  return call !== undefined && !isOfAgent && (isKnown || call.name.startsWith(madeName)) ? jsonIn(text) : undefined;
}

function readBy(format: Strategy | undefined, values: readonly unknown[]): Structured | undefined {
  for (const value of values) {
    try {
      const read = format?.parse?.(value);
      if (isRecord(read)) {
        return read;
      }
    } catch {
      // Not of this form.
    }
  }
  return undefined;
}

function jsonIn(text: string): Structured | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
