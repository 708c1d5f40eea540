import { type Fields, listIn, textIn } from "../json.js";
import type { AnthropicFindings } from "./sources.js";

interface Answered {
  readonly calls: readonly string[];
  readonly answers: readonly string[];
  readonly index: number;
}

/** Checks that each call is answered in the next message, and that nothing else is. */
export function checkToolUse(messages: readonly Fields[], findings: AnthropicFindings): void {
  const seen = new Set<string>();
  messages.forEach((message, index) => {
    const calls = idsOf(message, { type: "tool_use", key: "id" });
    const answers = idsOf(messages[index + 1], { type: "tool_result", key: "tool_use_id" });
    for (const id of calls) {
      if (seen.has(id)) {
        findings.add("same-id", `messages[${index}]`, `messages.${index}: \`tool_use\` ids must be unique`);
      }
      seen.add(id);
    }
    checkAnswers({ calls, answers, index }, findings);
    checkFirst(message, { index, findings });
  });
  for (const id of idsOf(messages[0], { type: "tool_result", key: "tool_use_id" })) {
    addUnexpected(id, 0, findings);
  }
}

function checkAnswers({ calls, answers, index }: Answered, findings: AnthropicFindings): void {
  const open = calls.filter((id) => !answers.includes(id));
  if (open.length > 0) {
    const text = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(", ")}`;
    findings.add("call-without-result", `messages[${index}]`, `messages.${index}: ${text}.`);
  }
  for (const id of answers.filter((answered) => !calls.includes(answered))) {
    addUnexpected(id, index + 1, findings);
  }
  const twice = answers.filter((id, at) => answers.indexOf(id) < at);
  if (twice.length > 0) {
    const text = `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${twice[0]}`;
    findings.add("two-results", `messages[${index + 1}]`, `messages.${index + 1}: ${text}`);
  }
}

function addUnexpected(id: string, index: number, findings: AnthropicFindings): void {
  const text =
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
  findings.add("result-without-call", `messages[${index}]`, `messages.${index}: ${text}`);
}

/** Results stand in front of everything else in their message. */
function checkFirst(
  message: Fields,
  { index, findings }: { readonly index: number; readonly findings: AnthropicFindings },
): void {
  const types = listIn(message["content"]).map(({ type }) => type);
  const other = types.findIndex((type) => type !== "tool_result");
  if (other >= 0 && types.lastIndexOf("tool_result") > other) {
    const text = "`tool_result` blocks must come first in the content of a message";
    findings.add("result-not-first", `messages[${index}].content[${other}]`, `messages.${index}: ${text}`);
  }
}

/** Checks that the calls of the service's own tools and their results stand in one message, both or neither. */
export function checkServerTools(messages: readonly Fields[], findings: AnthropicFindings): void {
  messages.forEach(({ content }, index) => {
    const blocks = listIn(content);
    const called = blocks.filter(({ type }) => type === "server_tool_use").map(({ id }) => String(id));
    const answered = blocks
      .filter(({ type, tool_use_id: id }) => type !== "tool_result" && typeof id === "string")
      .map(({ tool_use_id: id }) => String(id));
    for (const id of called.filter((one) => !answered.includes(one))) {
      const text = `tool use with id \`${id}\` was found without a corresponding result block`;
      findings.add("server-tool-pair", `messages[${index}]`, `messages.${index}: ${text}`);
    }
    for (const id of answered.filter((one) => !called.includes(one))) {
      const text = `a result block was found without a corresponding \`server_tool_use\` block: ${id}`;
      findings.add("server-tool-pair", `messages[${index}]`, `messages.${index}: ${text}`);
    }
  });
}

function idsOf(message: Fields | undefined, { type, key }: { readonly type: string; readonly key: string }): string[] {
  return listIn(message?.["content"])
    .filter((block) => block["type"] === type)
    .map((block) => textIn(block[key]) ?? "");
}
