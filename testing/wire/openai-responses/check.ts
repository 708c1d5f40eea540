import { Findings, type WireViolation } from "../findings.js";
import { type Fields, listIn } from "../json.js";
import type { ProviderMemory } from "../provider-memory.js";
import { checkItem } from "./check-item.js";
import { checkThoughts } from "./check-thoughts.js";
import { responsesSources, type ResponsesFindings } from "./sources.js";

/** The refusals of OpenAI's Responses service for the body of a request. */
export function checkResponses(
  body: Fields,
  { memory }: { readonly memory: ProviderMemory | undefined },
): readonly WireViolation[] {
  const findings: ResponsesFindings = new Findings("openai-responses", responsesSources);
  const { input } = body;
  if (typeof input === "string" && input !== "") {
    return findings.violations;
  }
  const items = listIn(input);
  if (items.length === 0) {
    findings.add("no-input", "input", "Missing required parameter: 'input'.");
  }
  items.forEach((item, index) => checkItem(item, { path: `input[${index}]`, findings }));
  checkSame(items, findings);
  if (body["previous_response_id"] === undefined || body["previous_response_id"] === null) {
    checkCalls(items, findings);
  }
  checkThoughts(items, { stores: body["store"] !== false, memory, findings });
  return findings.violations;
}

/** Items that call a tool of the client, and the items that answer them. */
const answerOf: Readonly<Record<string, string>> = {
  function_call: "function_call_output",
  custom_tool_call: "custom_tool_call_output",
  computer_call: "computer_call_output",
  local_shell_call: "local_shell_call_output",
  shell_call: "shell_call_output",
  apply_patch_call: "apply_patch_call_output",
};

function checkCalls(items: readonly Fields[], findings: ResponsesFindings): void {
  const open = new Map<string, number>();
  items.forEach((item, index) => {
    const type = String(item["type"]);
    const id = String(item["call_id"]);
    const call = Object.keys(answerOf).find((key) => answerOf[key] === type);
    if (answerOf[type] !== undefined) {
      if (open.has(`${type}:${id}`)) {
        findings.add("same-call-id", `input[${index}].call_id`, `Duplicate 'call_id': ${id}`);
      }
      open.set(`${type}:${id}`, index);
    } else if (call !== undefined && !open.delete(`${call}:${id}`)) {
      const text = `No tool call found for function call output with call_id ${id}.`;
      findings.add("output-without-call", `input[${index}]`, text);
    }
  });
  for (const [key, index] of open) {
    const text = `No tool output found for function call ${key.slice(key.indexOf(":") + 1)}.`;
    findings.add("call-without-output", `input[${index}]`, text);
  }
}

function checkSame(items: readonly Fields[], findings: ResponsesFindings): void {
  const seen = new Set<unknown>();
  items.forEach(({ id }, index) => {
    if (typeof id === "string" && seen.has(id)) {
      const text = `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`;
      findings.add("same-item", `input[${index}].id`, text);
    }
    seen.add(id);
  });
}
