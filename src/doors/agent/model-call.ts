import type { AIMessage, BaseMessage, SystemMessage } from "@langchain/core/messages";
import { mayCall } from "../../conversation/messages/calls.js";
import { mergeMessages } from "../../conversation/messages/copies/merge-messages.js";
import { roleOf } from "../../conversation/messages/roles.js";
import { frontMarks, withinMarks } from "../../conversation/structure/rules/mark-rules.js";
import type { StructureProfile } from "../../conversation/structure/profiles/profile.js";
import {
  boundThoughts,
  type BoundThoughts,
  type ModelPlan,
  type RequestObserver,
} from "../../conversation/structure/seam/model-input.js";
import { isStructured, type ResponseFormat } from "./structured-answer.js";

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
