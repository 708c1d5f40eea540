import type { BaseMessage } from "@langchain/core/messages";
import { convertMessagesToCompletionsMessageParams } from "@langchain/openai";
import { checkChatCompletionRequest } from "../../testing/openai-server/check-request.js";
import type { ChatCompletionRefusal } from "../../testing/openai-server/refusal.js";

/** What OpenAI's service objects to in these messages as ChatOpenAI sends them; undefined where it accepts them. */
export function refusalOf(messages: readonly BaseMessage[], model = "gpt-4o-mini"): ChatCompletionRefusal | undefined {
  const sent = convertMessagesToCompletionsMessageParams({ messages: [...messages], model });
  // As JSON, as on the wire: what is undefined is not sent.
  return checkChatCompletionRequest(JSON.parse(JSON.stringify({ model, messages: sent })));
}
