export { sessionStoreContract, type ContractCase, type StoreSetup } from "./session-store-contract.js";
export {
  checkChatCompletionRequest,
  startOpenAIServer,
  type ChatCompletionRefusal,
  type OpenAIServer,
  type OpenAIServerOptions,
  type ReceivedRequest,
  type ScriptedCall,
  type ScriptedReply,
} from "./openai-server.js";
