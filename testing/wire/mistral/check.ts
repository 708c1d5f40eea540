import { Findings, type RuleSources, type WireViolation } from "../findings.js";
import { countBlocks, type Fields, fieldsIn, isBlank, listIn, textIn } from "../json.js";

const validator =
  "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py";
const api = "https://docs.mistral.ai/api/endpoint/chat";

const sources = {
  "no-messages": validator,
  role: api,
  order: validator,
  "user-after-tool": "https://github.com/mistralai/mistral-common/issues/169",
  "last-message": validator,
  "empty-answer": validator,
  "call-count": validator,
  "result-without-call": validator,
  "call-id": validator,
  "tool-name": validator,
  arguments: api,
  "chunk-type": api,
  "chunk-form": api,
  "image-count": "https://docs.mistral.ai/capabilities/vision",
} as const satisfies RuleSources<string>;

type MistralFindings = Findings<keyof typeof sources>;

const chunksOf: Readonly<Record<string, readonly string[]>> = {
  system: ["text", "thinking"],
  user: ["text", "image_url", "document_url", "input_audio", "file"],
  assistant: ["text", "thinking", "reference", "tool_reference", "image_url", "document_url", "file"],
  tool: ["text", "image_url", "document_url", "file", "reference", "tool_reference"],
};

const after: Readonly<Record<string, readonly string[]>> = {
  system: ["user", "assistant", "system"],
  user: ["assistant", "system", "user"],
  assistant: ["assistant", "user", "tool"],
  tool: ["assistant", "tool"],
};

/** The refusals of Mistral's chat completions for the body of a request. */
export function checkMistral(body: Fields): readonly WireViolation[] {
  const findings: MistralFindings = new Findings("mistral", sources);
  const messages = listIn(body["messages"]);
  if (messages.length === 0) {
    findings.add("no-messages", "messages", "Conversation must have at least one message");
  }
  messages.forEach((message, index) => {
    checkMessage(message, { index, findings });
    checkOrder(messages[index - 1]?.["role"], message["role"], { index, findings });
  });
  checkCalls(messages, findings);
  if (messages.reduce((count, { content }) => count + countBlocks(content, ["image_url"]), 0) > 8) {
    findings.add("image-count", "messages", "Too many images in request. Max is 8.");
  }
  const last = messages.at(-1);
  if (last?.["role"] === "assistant" && last["prefix"] !== true) {
    const text = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant";
    findings.add("last-message", `messages[${messages.length - 1}].role`, text);
  }
  return findings.violations;
}

interface Place {
  readonly index: number;
  readonly findings: MistralFindings;
}

function checkMessage(message: Fields, place: Place): void {
  const { index, findings } = place;
  const role = String(message["role"]);
  const path = `messages[${index}]`;
  if (chunksOf[role] === undefined) {
    findings.add("role", `${path}.role`, `Input tag '${role}' does not match any of the expected tags`);
    return;
  }
  const { content } = message;
  listIn(content).forEach((chunk, at) => checkChunk(chunk, { ...place, role, at }));
  const calls = listIn(message["tool_calls"]);
  const says = Array.isArray(content) ? content.length > 0 : textIn(content) !== undefined && content !== "";
  if (role === "assistant" && !says && calls.length === 0) {
    findings.add("empty-answer", path, "Assistant message must have either content or tool_calls, but not none.");
  }
  calls.forEach((call, at) => checkCall(call, { path: `${path}.tool_calls[${at}]`, findings }));
  if (role === "tool") {
    checkId(message["tool_call_id"], { path: `${path}.tool_call_id`, findings });
  }
}

function checkChunk(
  chunk: Fields,
  { index, role, at, findings }: Place & { readonly role: string; readonly at: number },
): void {
  const type = String(chunk["type"]);
  const path = `messages[${index}].content[${at}]`;
  if (!chunksOf[role]!.includes(type)) {
    findings.add("chunk-type", `${path}.type`, `Unexpected content chunk types in ${role} message: ['${type}']`);
  } else if (type === "thinking" && !Array.isArray(chunk["thinking"])) {
    findings.add("chunk-form", `${path}.thinking`, "Input should be a valid list");
  } else if (type === "text" && (typeof chunk["text"] !== "string" || (role === "user" && isBlank(chunk["text"])))) {
    findings.add("chunk-form", `${path}.text`, "Input should be a valid string");
  }
}

interface Part {
  readonly path: string;
  readonly findings: MistralFindings;
}

function checkCall(call: Fields, { path, findings }: Part): void {
  checkId(call["id"], { path: `${path}.id`, findings });
  const { name, arguments: given } = fieldsIn(call["function"]);
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    const text = `Function name was ${String(name)} but must be a-z, A-Z, 0-9, or contain underscores and dashes`;
    findings.add("tool-name", `${path}.function.name`, `${text}, with a maximum length of 64.`);
  }
  if (typeof given !== "string" && (typeof given !== "object" || given === null)) {
    findings.add("arguments", `${path}.function.arguments`, "Input should be a valid string");
  }
}

function checkId(id: unknown, { path, findings }: Part): void {
  if (typeof id !== "string" || !/^[a-zA-Z0-9]{9}$/.test(id)) {
    const text = `Tool call id was ${String(id)} but must be a-z, A-Z, 0-9, with a length of 9.`;
    findings.add("call-id", path, text);
  }
}

function checkOrder(previous: unknown, role: unknown, { index, findings }: Place): void {
  if (typeof previous !== "string" || after[previous] === undefined || after[previous]!.includes(String(role))) {
    return;
  }
  const rule = previous === "tool" && role === "user" ? "user-after-tool" : "order";
  findings.add(rule, `messages[${index}].role`, `Unexpected role '${String(role)}' after role '${previous}'`);
}

function checkCalls(messages: readonly Fields[], findings: MistralFindings): void {
  let open: string[] = [];
  const closed = (index: number) => {
    if (open.length > 0) {
      findings.add("call-count", `messages[${index}]`, "Not the same number of function calls and responses");
    }
  };
  messages.forEach((message, index) => {
    if (message["role"] === "tool") {
      const id = String(message["tool_call_id"]);
      if (!open.includes(id)) {
        findings.add(
          "result-without-call",
          `messages[${index}].tool_call_id`,
          `Unexpected tool call id ${id} in tool results`,
        );
      }
      open = open.filter((one) => one !== id);
      return;
    }
    closed(index);
    open = listIn(message["tool_calls"]).map(({ id }) => String(id));
  });
  closed(messages.length - 1);
}
