export {
  startOpenAIServer,
  type OpenAIServer,
  type OpenAIServerOptions,
  type ReceivedRequest,
} from "./openai-server.js";
export { checkChatCompletionRequest } from "./openai-server/check-request.js";
export type { ScriptedCall, ScriptedReply } from "./openai-server/completion.js";
export type { ChatCompletionRefusal } from "./openai-server/refusal.js";
export {
  startProviderServer,
  type ProviderRequest,
  type ProviderServer,
  type ProviderServerOptions,
} from "./provider-server.js";
export type { ProviderReply } from "./wire/answers/answer.js";
export { captureWire, type CapturedWire, type CaptureWireOptions, type WireModel } from "./wire/capture-wire.js";
export { checkWire, type CheckWireOptions } from "./wire/check-wire.js";
export type { WireKind, WireViolation } from "./wire/findings.js";
export { ProviderMemory } from "./wire/provider-memory.js";
