import { AIMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { changeMessage } from "../../conversation/messages/change-message.js";
import { textOf } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/roles.js";
import { isRecord, valueIn } from "../../conversation/messages/values.js";

/** Structural type of langchain's strategies and of zod schemas. */
interface Strategy {
  parse?(value: unknown): unknown;
}

type Structured = Record<string, unknown>;

/** The structured response format in a request. */
export interface ResponseFormat {
  readonly responseFormat?: unknown;
  readonly tools?: readonly unknown[];
}

/** Outcome of a model request of an agent with a structured response. */
interface StructuredOutcome {
  readonly messages: readonly BaseMessage[];
  readonly structuredResponse: Structured | undefined;
}

/** Prefix of langchain's tool names for schemas without a name. */
const madeName = "extract-";
/** Prefix of langchain's default final message. */
const lastWords = "Returning structured response: ";

/**
 * Rebuilds the structured response of a stored answer: the result of its response tool's call, else the JSON of its
 * last message, parsed by the agent's response format. Undefined if the agent has none.
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
  // A schema parses the value, a provider's strategy the message.
  return value === undefined ? undefined : (readBy(formats[0], [value, last]) ?? value);
}

/**
 * The outcome wrapped in an AI message, which every version of langchain accepts from a middleware: 1.0 accepts nothing
 * else, not even the outcome of its own model request.
 */
export function asAnswer({ messages, structuredResponse }: StructuredOutcome): AIMessage {
  const last = messages.findLast((message): message is AIMessage => roleOf(message) === "ai") ?? new AIMessage("");
  return Object.assign(changeMessage(last, {}), { messages, structuredResponse });
}

/** True for langchain's outcome of a model request with a structured response. */
export function isStructured(response: unknown): response is StructuredOutcome {
  return isRecord(response) && "structuredResponse" in response && Array.isArray(response["messages"]);
}

/** Langchain ends with a call of a response tool, the value as its result, and a final text. */
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
  const value = valueIn(text);
  return isRecord(value) ? value : undefined;
}
