import type { Findings, RuleSources } from "../findings.js";

const reference = "https://platform.openai.com/docs/api-reference/responses/create";
const calling = "https://developers.openai.com/api/docs/guides/function-calling";

/** How each rule of OpenAI's Responses is known. */
export const responsesSources = {
  "no-input": reference,
  "item-type": reference,
  "item-form": reference,
  role: reference,
  "part-type": reference,
  "part-form": reference,
  "item-id": "https://github.com/nodetool-ai/nodetool/pull/4252",
  "same-item": "https://github.com/earendil-works/pi/issues/5151",
  "same-call-id": "https://github.com/earendil-works/pi/issues/9057",
  "call-id": "https://github.com/AnswerDotAI/fastllm/issues/45",
  "tool-name": reference,
  "call-without-output": calling,
  "output-without-call": calling,
  "thought-alone": "https://github.com/vercel/ai/issues/7099",
  "item-without-thought": "https://github.com/0xPlaygrounds/rig/issues/751",
  "thought-not-stored": "https://github.com/vercel/ai/issues/7543",
  "foreign-thought": "https://developers.openai.com/api/docs/guides/reasoning",
} as const satisfies RuleSources<string>;

/** Collects violations of these rules. */
export type ResponsesFindings = Findings<keyof typeof responsesSources>;
