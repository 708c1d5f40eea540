import { Findings, type WireViolation } from "../findings.js";
import {
  cacheMarks,
  countBlocks,
  type Fields,
  fieldsIn,
  isBlank,
  isObject,
  lateHour,
  listIn,
  textIn,
} from "../json.js";
import type { ProviderMemory } from "../provider-memory.js";
import { checkBlock } from "./check-block.js";
import { checkServerTools, checkToolUse } from "./check-tools.js";
import { bindsThoughts, isThought, placeThoughts } from "./prefix.js";
import { anthropicSources, type AnthropicFindings } from "./sources.js";

/** The refusals of Anthropic's Messages service for the body of a request. */
export function checkAnthropic(
  body: Fields,
  { memory, model }: { readonly memory: ProviderMemory | undefined; readonly model: string },
): readonly WireViolation[] {
  const findings: AnthropicFindings = new Findings("anthropic", anthropicSources);
  const messages = listIn(body["messages"]);
  if (messages.length === 0) {
    findings.add("no-messages", "messages", "messages: at least one message is required");
  } else if (messages[0]!["role"] !== "user") {
    findings.add("first-message", "messages[0].role", 'messages: first message must use the "user" role');
  }
  messages.forEach((message, index) => checkMessage(message, { index, messages, model, findings }));
  checkToolUse(messages, findings);
  checkServerTools(messages, findings);
  checkEnd(messages.at(-1), { index: messages.length - 1, model, findings });
  checkThoughts(body, { memory, model, findings });
  checkFirstThought(body, { messages, model, findings });
  checkMarks(body, findings);
  const [images, documents] = ["image", "document"].map((type) =>
    messages.reduce((count, { content }) => count + countBlocks(content, [type]), 0),
  ) as [number, number];
  if (images + documents > 100) {
    findings.add("media-count", "messages", `too many images and documents: ${images} + ${documents} > 100`);
  }
  if (typeof body["max_tokens"] !== "number") {
    findings.add("max-tokens", "max_tokens", "max_tokens: Field required");
  }
  return findings.violations;
}

/** Marks in tools, system prompt and messages, and the one for the end of the request. */
function checkMarks({ tools, system, messages, cache_control: end }: Fields, findings: AnthropicFindings): void {
  const marks = cacheMarks([tools, system, messages]);
  const count = marks.length + (isObject(end) ? 1 : 0);
  if (count > 4) {
    const text = `A maximum of 4 blocks with cache_control may be provided. Found ${count}.`;
    findings.add("cache-marks", "messages", text);
  }
  if (lateHour(marks) >= 0) {
    const text = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.";
    findings.add("cache-order", "messages", text);
  }
}

interface Place {
  readonly index: number;
  readonly messages: readonly Fields[];
  readonly model: string;
  readonly findings: AnthropicFindings;
}

function checkMessage(message: Fields, place: Place): void {
  const { role, content } = message;
  const { index, messages, findings } = place;
  const path = `messages[${index}]`;
  if (role !== "user" && role !== "assistant" && role !== "system") {
    findings.add("role", `${path}.role`, `messages.${index}.role: Input should be 'user' or 'assistant'`);
    return;
  }
  if (role === "system") {
    checkLateSystem(place);
  }
  const isEmpty = content === "" || (Array.isArray(content) && content.length === 0);
  if (isEmpty && (role !== "assistant" || index < messages.length - 1)) {
    const message = "all messages must have non-empty content except for the optional final assistant message";
    findings.add("empty-content", `${path}.content`, `messages.${index}: ${message}`);
  } else if (isBlank(content)) {
    findings.add("blank-text", `${path}.content`, "messages: text content blocks must contain non-whitespace text");
  } else if (typeof content !== "string" && !Array.isArray(content)) {
    findings.add("content-type", `${path}.content`, `messages.${index}.content: Input should be a valid list`);
  }
  listIn(content).forEach((block, at) => {
    checkBlock(block, { role, path: `${path}.content[${at}]`, name: `messages.${index}.content.${at}`, findings });
  });
  if (role === "assistant" && isThought(listIn(content).at(-1) ?? {})) {
    const text = "The final block in an assistant message cannot be `thinking`.";
    findings.add("thought-at-end", `${path}.content`, `messages.${index}: ${text}`);
  }
}

/** Models before Opus 4.8 know no system message beside the `system` field. */
const withoutLateSystem = /claude-(?:[23]-|(?:opus|sonnet|haiku)-4(?!-[89]))/;

function checkLateSystem({ index, messages, model, findings }: Place): void {
  const path = `messages[${index}].role`;
  if (withoutLateSystem.test(model)) {
    findings.add(
      "late-system",
      path,
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter',
    );
  } else if (messages[index - 1]?.["role"] !== "user" || messages[index + 1]?.["role"] === "user") {
    findings.add("late-system", path, "messages: a `system` message must follow the newest user message");
  }
}

/** Models that take no beginning of their answer from the client. */
const withoutPrefill = /claude-(?:(?:opus|sonnet)-4-[6-9]|(?:fable|mythos|opus|sonnet|haiku)-5)/;

function checkEnd(message: Fields | undefined, { index, model, findings }: Omit<Place, "messages">): void {
  if (message?.["role"] !== "assistant") {
    return;
  }
  if (withoutPrefill.test(model)) {
    const text =
      "This model does not support assistant message prefill. The conversation must end with a user message.";
    findings.add("prefill", `messages[${index}].role`, text);
  }
  const { content } = message;
  const last = typeof content === "string" ? content : textIn(listIn(content).at(-1)?.["text"]);
  if (last !== undefined && last !== last.trimEnd()) {
    const text = "messages: final assistant content cannot end with trailing whitespace";
    findings.add("trailing-space", `messages[${index}].content`, text);
  }
}

function checkThoughts(
  body: Fields,
  { memory, model, findings }: Pick<Place, "model" | "findings"> & { readonly memory: ProviderMemory | undefined },
): void {
  const mismatch = fieldsIn(fieldsIn(body["thinking"])["block_binding"])["prefix_mismatch_behavior"];
  for (const { proof, prefix, path } of placeThoughts(body).thoughts) {
    const name = path.replaceAll("[", ".").replaceAll("]", "");
    if (proof === undefined) {
      findings.add("unsigned-thought", path, `${name}.thinking.signature: Field required`);
    } else if (proof === "" || proof === "undefined" || memory?.knows(proof) === false) {
      findings.add("foreign-thought", path, `${name}: Invalid \`signature\` in \`thinking\` block`);
    } else if (bindsThoughts(model) && mismatch !== "drop_block" && isElsewhere(proof, prefix, memory)) {
      const text =
        "The block is bound to a different conversation. Remove the block, or set " +
        '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';
      findings.add("bound-thought", path, `${name}: Invalid \`signature\` in \`thinking\` block. ${text}`);
    }
  }
}

function isElsewhere(proof: string, prefix: string, memory: ProviderMemory | undefined): boolean {
  const made = memory?.prefixOf(proof);
  return made !== undefined && made !== prefix;
}

/** Models that want the thought of a turn's first step where thinking is enabled by hand. */
const wantsFirstThought = /claude-(?:3-7|(?:opus|sonnet|haiku)-4)/;

function checkFirstThought(
  body: Fields,
  { messages, model, findings }: Pick<Place, "messages" | "model" | "findings">,
): void {
  if (fieldsIn(body["thinking"])["type"] !== "enabled" || !wantsFirstThought.test(model)) {
    return;
  }
  const question = messages.findLastIndex(
    ({ role, content }) => role === "user" && !listIn(content).some(({ type }) => type === "tool_result"),
  );
  const step = messages.findIndex(({ role }, index) => index > question && role === "assistant");
  const first = listIn(messages[step]?.["content"])[0];
  if (step >= 0 && isObject(first) && !isThought(first!)) {
    const text = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first!["type"])}\`.`;
    findings.add("first-thought", `messages[${step}].content[0]`, `messages.${step}.content.0.type: ${text}`);
  }
}
