import type { Findings, RuleSources } from "../findings.js";

const docs = "https://platform.claude.com/docs/en";
const messagesPage = `${docs}/api/messages`;
const toolsPage = `${docs}/agents-and-tools/tool-use/handle-tool-calls`;
const thinkingPage = `${docs}/build-with-claude/extended-thinking`;
const preservedThinking = `${docs}/build-with-claude/preserved-thinking`;
const threads = "https://github.com/anthropics/claude-code/issues";

/** How each rule of Anthropic's Messages is known. */
export const anthropicSources = {
  "no-messages": messagesPage,
  "first-message": messagesPage,
  role: messagesPage,
  "late-system": `${preservedThinking}/change-tools-or-instructions`,
  "empty-content": `${threads}/6774`,
  "blank-text": `${threads}/59812`,
  "content-type": messagesPage,
  "block-type": messagesPage,
  "block-form": messagesPage,
  "thought-at-end": "https://github.com/tailcallhq/forgecode/issues/2107",
  "trailing-space": "https://github.com/tailcallhq/forgecode/issues/1872",
  prefill: `${threads}/52433`,
  "media-count": "https://github.com/anthropics/claude-code/issues/24541",
  "cache-marks": `${docs}/build-with-claude/prompt-caching`,
  "cache-order": `${docs}/build-with-claude/prompt-caching`,
  "unsigned-thought": thinkingPage,
  "foreign-thought": thinkingPage,
  "bound-thought": `${preservedThinking}/fix-bound-to-a-different-conversation`,
  "first-thought": "https://github.com/openai/openai-agents-python/issues/1704",
  "call-without-result": toolsPage,
  "result-without-call": `${threads}/18947`,
  "result-not-first": toolsPage,
  "two-results": toolsPage,
  "same-id": toolsPage,
  "call-id": messagesPage,
  "tool-name": messagesPage,
  "server-tool-pair": "https://github.com/AnswerDotAI/lisette/issues/108",
  "max-tokens": messagesPage,
} as const satisfies RuleSources<string>;

/** Collects violations of these rules. */
export type AnthropicFindings = Findings<keyof typeof anthropicSources>;
