export {
  startOpenAIServer,
  type OpenAIServer,
  type OpenAIServerOptions,
  type ReceivedRequest,
} from "./openai-server.js";
export { checkChatCompletionRequest } from "./openai-server/check-request.js";
export type { ScriptedCall, ScriptedReply } from "./openai-server/completion.js";
export type { ChatCompletionRefusal } from "./openai-server/refusal.js";
export { sessionStoreContract, type ContractCase } from "./session-store-contract.js";
export type { StoreSetup } from "./session-store/store-case.js";
