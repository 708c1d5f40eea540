import { halfPairs } from "../wire/json.js";
import { checkMessage } from "./check-message.js";
import { checkToolMessages } from "./check-tool-messages.js";
import { emptyArray, missing, Refused, wrongPattern, wrongType, type ChatCompletionRefusal } from "./refusal.js";

/**
 * Returns the error with which OpenAI's chat-completions service refuses the body of a request; undefined if it accepts
 * the body.
 *
 * The rules are those that the service was observed to enforce on the shape of messages. They check the wire format,
 * independently of this package's own validator. Rules of an account or a model (limits, prices, abilities) are
 * not checked. Linear.
 *
 * @example
 * import { checkChatCompletionRequest } from "langchain-redis-memory/testing";
 *
 * const body = { model: "gpt-4o-mini", messages: [{ role: "tool", content: "4 °C" }] };
 * const refusal = checkChatCompletionRequest(body); // its message says why
 */
export function checkChatCompletionRequest(body: unknown): ChatCompletionRefusal | undefined {
  try {
    checkBody(body);
    return undefined;
  } catch (error) {
    const { refusal } = error as Partial<Refused>;
    if (refusal === undefined) {
      throw error;
    }
    return refusal;
  }
}

function checkBody(body: unknown): void {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new Refused(
      "We could not parse the JSON body of your request. " +
        "(HINT: the API expects a JSON payload, but what was sent was not valid JSON.)",
    );
  }
  if (halfPairs(body).length > 0) {
    throw new Refused("We could not parse the JSON body of your request.");
  }
  const { model, messages, tools } = body as Record<string, unknown>;
  if (typeof model !== "string" || model === "") {
    throw new Refused("you must provide a model parameter");
  }
  if (messages === undefined) {
    throw missing("messages");
  }
  if (!Array.isArray(messages)) {
    throw wrongType("messages", { expected: "an array of objects", got: messages });
  }
  if (messages.length === 0) {
    throw emptyArray("messages");
  }
  checkTools(tools);
  messages.forEach((message, index) => checkMessage(message, index));
  checkToolMessages(messages as Record<string, unknown>[]);
}

function checkTools(tools: unknown): void {
  if (tools === undefined) {
    return;
  }
  if (!Array.isArray(tools)) {
    throw wrongType("tools", { expected: "an array of objects", got: tools });
  }
  if (tools.length === 0) {
    throw new Refused("[] is too short - 'tools'");
  }
  tools.forEach((tool, index) => {
    const name = (tool as { function?: { name?: unknown } } | null)?.function?.name;
    const param = `tools[${index}].function.name`;
    if (typeof name !== "string") {
      throw missing(param);
    }
    if (!/^[a-zA-Z0-9_-]+$/.test(name)) {
      throw wrongPattern(param, "^[a-zA-Z0-9_-]+$");
    }
  });
}
