import { checkChatCompletionRequest } from "../openai-server/check-request.js";
import { checkAnthropic } from "./anthropic/check.js";
import { checkBedrock } from "./bedrock/check.js";
import { Findings, type WireKind, type WireViolation } from "./findings.js";
import { checkGemini } from "./gemini/check.js";
import { type Fields, fieldsIn, halfPairs } from "./json.js";
import { checkMistral } from "./mistral/check.js";
import { checkResponses } from "./openai-responses/check.js";
import type { ProviderMemory } from "./provider-memory.js";

/** Facts about a request other than its body. */
export interface CheckWireOptions {
  /** The model's name, where it stands in the URL (Gemini, Bedrock). @default the body's `model` */
  readonly model?: string;
  /** The provider's memory of its own answers. @default not checked */
  readonly memory?: ProviderMemory;
}

interface Facts {
  readonly model: string;
  readonly memory: ProviderMemory | undefined;
}

const checks: Readonly<Record<WireKind, (body: Fields, facts: Facts) => readonly WireViolation[]>> = {
  "openai-chat": checkChat,
  "openai-responses": checkResponses,
  anthropic: checkAnthropic,
  gemini: checkGemini,
  mistral: checkMistral,
  bedrock: checkBedrock,
};

/**
 * Returns the rules of a provider that the body of a request breaks; empty if the provider accepts it, as far as the
 * rules are known. Each violation names its source. Rules of an account (limits, prices) are not checked. Linear.
 *
 * @example
 * import { ChatAnthropic } from "@langchain/anthropic";
 * import { HumanMessage } from "@langchain/core/messages";
 * import { captureWire, checkWire } from "langchain-redis-memory/testing";
 *
 * const model = new ChatAnthropic({ model: "claude-sonnet-5-5", apiKey: "none" });
 * const { kind, body } = await captureWire(model, [new HumanMessage("Hi")]);
 * const violations = checkWire(kind, body); // []
 */
export function checkWire(kind: WireKind, body: unknown, options: CheckWireOptions = {}): readonly WireViolation[] {
  const fields = fieldsIn(body);
  const model = options.model ?? String(fields["model"] ?? "");
  return [...checks[kind](fields, { model, memory: options.memory }), ...checkText(kind, fields)];
}

/** No provider reads JSON with half of a surrogate pair. */
function checkText(kind: WireKind, body: Fields): readonly WireViolation[] {
  const findings = new Findings(kind, { "half-pair": "https://github.com/anthropics/claude-code/issues/2108" });
  for (const path of halfPairs(body)) {
    findings.add("half-pair", path, "The request body is not valid JSON: no low surrogate in string");
  }
  return findings.violations;
}

const chatSources = { refused: "https://platform.openai.com/docs/api-reference/chat/create" };

/** The service stops at the first error, and so does this check. */
function checkChat(body: Fields): readonly WireViolation[] {
  const findings = new Findings("openai-chat", chatSources);
  const refusal = checkChatCompletionRequest(body);
  if (refusal !== undefined) {
    findings.add("refused", refusal.param ?? "", refusal.message);
  }
  return findings.violations;
}
