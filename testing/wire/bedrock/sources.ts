import type { Findings, RuleSources } from "../findings.js";

const converse = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime";

/** How each rule of Bedrock's Converse is known. */
export const bedrockSources = {
  "no-messages": `${converse}_Converse.html`,
  "first-message": "https://github.com/NousResearch/hermes-agent/pull/63983",
  alternation: "https://github.com/langchain-ai/langchainjs/issues/6724",
  "last-message": "https://github.com/microsoft/semantic-kernel/issues/10281",
  "empty-content": "https://github.com/langchain-ai/langchain/issues/26968",
  "blank-text": "https://github.com/continuedev/continue/issues/9767",
  "block-form": `${converse}_ContentBlock.html`,
  "call-without-result": "https://github.com/strands-agents/harness-sdk/issues/1435",
  "result-without-call": "https://github.com/strands-agents/harness-sdk/issues/1435",
  "same-id": `${converse}_ToolUseBlock.html`,
  "call-id": `${converse}_ToolUseBlock.html`,
  "tool-name": `${converse}_ToolUseBlock.html`,
  "no-tools": "https://github.com/langgenius/dify/issues/17545",
  "unsigned-thought": `${converse}_ReasoningTextBlock.html`,
  "foreign-thought": `${converse}_ReasoningTextBlock.html`,
  "cache-points": "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html",
  "document-name": `${converse}_DocumentBlock.html`,
  "same-document": "https://github.com/BerriAI/litellm/issues/29418",
  "thought-at-end": "https://github.com/tailcallhq/forgecode/issues/2107",
} as const satisfies RuleSources<string>;

/** Collects violations of these rules. */
export type BedrockFindings = Findings<keyof typeof bedrockSources>;
