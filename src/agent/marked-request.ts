import type { BaseMessage, SystemMessage } from "@langchain/core/messages";
import { withCacheMarks } from "../reducers/prompt-cache/prompt-cache-marks.js";
import type { StructureProfile } from "../structure/profiles/profile.js";

/** The part of a model call's request that is marked; before langchain 1.1 there is no `systemMessage` in it. */
interface MarkedFields {
  readonly messages: BaseMessage[];
  readonly systemMessage?: SystemMessage;
}

/** The request with marks for the provider's prompt cache. The system message counts as a part of the prompt. */
export function markedRequest<Request extends MarkedFields>(request: Request, profile: StructureProfile): Request {
  const { messages, systemMessage } = request;
  if (systemMessage === undefined) {
    return { ...request, messages: withCacheMarks(messages, { profile }) };
  }
  const [system, ...rest] = withCacheMarks([systemMessage, ...messages], { profile });
  return { ...request, messages: rest, systemMessage: system };
}
