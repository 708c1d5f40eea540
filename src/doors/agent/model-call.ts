import { AIMessage, type BaseMessage, type SystemMessage, type ToolMessage } from "@langchain/core/messages";
import { mayCall, textOf } from "../../conversation/messages/content.js";
import { mergeMessages } from "../../conversation/messages/copies/edit-message.js";
import { roleOf, isRecord, valueIn } from "../../conversation/messages/message.js";
import { frontMarks, withinMarks } from "../../conversation/structure/rules/request-rules.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import { boundThoughts } from "../../conversation/structure/seam/model-input.js";
import type { BoundThoughts, ModelPlan, RequestObserver } from "../../conversation/structure/seam/model-input.js";
import { changeMessage } from "../../conversation/messages/change-message.js";

/** The used part of a model call's request. */
export interface CallRequest extends ResponseFormat {
  readonly messages: BaseMessage[];
  readonly model?: unknown;
  /** Before langchain 1.1 the text alone. */
  readonly systemMessage?: SystemMessage;
  readonly systemPrompt?: string;
  /** Options of the model's tools. */
  readonly modelSettings?: object;
  readonly state: { readonly messages: BaseMessage[] };
}

/** A request as it is sent, and what its answer is to be marked with. */
interface PreparedCall<Request extends CallRequest> {
  readonly sent: Request;
  readonly bound: BoundThoughts | undefined;
}

/** The request in the form of its model: one system text, marks for the provider's prompt cache, fitting thoughts. */
export async function preparedCall<Request extends CallRequest>(
  request: Request,
  { plan, profile }: ModelPlan,
  observer: RequestObserver,
): Promise<PreparedCall<Request>> {
  const plain = withOneSystemText(request, plan.criteria.profile);
  const marked = markedRequest(plain);
  const { messages, systemMessage, systemPrompt, tools } = marked;
  const bound = await boundThoughts({ profile, messages, system: systemMessage ?? systemPrompt, tools }, observer);
  return { sent: bound === undefined ? marked : { ...marked, messages: bound.messages }, bound };
}

/** True for an answer without tool calls: the run's last hooks should follow at once. */
export function isAnswer(response: unknown): boolean {
  const message = messageOf(response);
  return message !== undefined && !mayCall(message);
}

/** The parts of a request beside its messages. */
export function partsOf({ model, systemMessage, systemPrompt, tools }: CallRequest) {
  return { model, system: systemMessage ?? systemPrompt, tools };
}

/** The tools of a request; undefined where a structured response may still add its own. */
export function toolsOf({ tools = [], responseFormat }: ResponseFormat): readonly unknown[] | undefined {
  return tools.length === 0 && responseFormat !== undefined ? undefined : tools;
}

/** The AI message of a response; undefined for a structured one. */
export function messageOf(response: unknown): AIMessage | undefined {
  const isMessage = (response as Partial<AIMessage> | undefined)?.getType?.() === "ai";
  return isMessage ? (response as AIMessage) : undefined;
}

/** The model's response with changed answers. */
export function changedResponse<Response>(
  response: Response,
  change: <M extends BaseMessage>(answer: M) => M,
): Response {
  const message = messageOf(response);
  if (message !== undefined) {
    return change(message) as Response;
  }
  return isStructured(response) ? { ...response, messages: response.messages.map((each) => change(each)) } : response;
}

/** The marked part of a model call's request; before langchain 1.1 without `systemMessage`. */
type MarkedFields = Pick<CallRequest, "messages" | "systemMessage">;

/**
 * The request with the system text of the conversation in its own, where the provider takes one. ChatAnthropic sends
 * several as blocks, so that the first one stays in the provider's cache.
 */
function withOneSystemText<Request extends MarkedFields>(
  request: Request,
  { rules, adapter }: StructureProfile,
): Request {
  const { messages, systemMessage } = request;
  const [first, ...rest] = messages;
  const isApart = first !== undefined && roleOf(first) === "system" && (systemMessage?.text ?? "") !== "";
  return isApart && rules.S04 === "error" && adapter !== "anthropic"
    ? { ...request, messages: rest, systemMessage: mergeMessages([systemMessage!, first]) }
    : request;
}

/** The request with no more marks for a prompt cache than it may have, system message included. */
function markedRequest<Request extends CallRequest>(request: Request): Request {
  const { messages, systemMessage, modelSettings } = request;
  const front = frontMarks(toolsOf(request) ?? [], modelSettings);
  const all = [...(systemMessage === undefined ? [] : [systemMessage]), ...messages];
  const marked = withinMarks(all, front);
  if (marked === all) {
    return request;
  }
  const [system, ...rest] = systemMessage === undefined ? [undefined, ...marked] : marked;
  return { ...request, messages: rest, ...(system !== undefined && { systemMessage: system }) };
}

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
