import { Findings, type WireViolation } from "../findings.js";
import { cacheMarks, type Fields, fieldsIn, isBlank, isObject, lateHour, listIn, textIn } from "../json.js";
import type { ProviderMemory } from "../provider-memory.js";
import { bedrockSources, type BedrockFindings } from "./sources.js";

/** The refusals of Bedrock's Converse for the body of a request. */
export function checkBedrock(
  body: Fields,
  { memory, model }: { readonly memory: ProviderMemory | undefined; readonly model: string },
): readonly WireViolation[] {
  const findings: BedrockFindings = new Findings("bedrock", bedrockSources);
  const messages = listIn(body["messages"]);
  checkTurns(messages, findings);
  messages.forEach((message, index) => {
    checkMessage(message, { index, memory, model, findings });
    checkPair(messages, { index, findings });
  });
  checkDocuments(messages, findings);
  const marks = cacheMarks([fieldsIn(body["toolConfig"])["tools"], body["system"], messages]);
  if (marks.length > 4 || lateHour(marks) >= 0) {
    findings.add(
      "cache-points",
      "messages",
      "The request has more than 4 cache points, or a longer one behind a shorter.",
    );
  }
  const usesTools = messages.some(({ content }) =>
    listIn(content).some((block) => "toolUse" in block || "toolResult" in block),
  );
  if (usesTools && !Array.isArray(fieldsIn(body["toolConfig"])["tools"])) {
    const text = "The toolConfig field must be defined when using toolUse and toolResult content blocks.";
    findings.add("no-tools", "toolConfig", text);
  }
  return findings.violations;
}

function checkTurns(messages: readonly Fields[], findings: BedrockFindings): void {
  if (messages.length === 0) {
    findings.add("no-messages", "messages", "The messages field must have at least one message.");
    return;
  }
  if (messages[0]!["role"] !== "user") {
    const text =
      "A conversation must start with a user message. Try again with a conversation that starts with a user message.";
    findings.add("first-message", "messages[0].role", text);
  }
  messages.forEach(({ role }, index) => {
    if (index > 0 && role === messages[index - 1]!["role"]) {
      const text =
        "A conversation must alternate between user and assistant roles. " +
        "Make sure the conversation alternates between user and assistant roles and try again.";
      findings.add("alternation", `messages[${index}].role`, text);
    }
  });
  if (messages.at(-1)!["role"] !== "user") {
    const text = "The conversation must end with a user message.";
    findings.add("last-message", `messages[${messages.length - 1}].role`, text);
  }
}

/** Documents in messages and in results of tools have names of one set. */
function checkDocuments(messages: readonly Fields[], findings: BedrockFindings): void {
  const seen = new Set<string>();
  messages.forEach(({ content }, index) => {
    const blocks = listIn(content).flatMap((block) => [block, ...listIn(fieldsIn(block["toolResult"])["content"])]);
    for (const name of blocks.filter(({ document }) => isObject(document)).map((block) => nameOfDocument(block))) {
      const path = `messages[${index}].content`;
      if (!/^[a-zA-Z0-9\s()[\]-]{1,200}$/.test(name) || /\s\s/.test(name)) {
        const text =
          "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, " +
          "parentheses, and square brackets. The name can't contain more than one consecutive whitespace character.";
        findings.add("document-name", path, text);
      }
      if (seen.has(name.toLowerCase())) {
        findings.add("same-document", path, "Messages can't contain duplicate document names");
      }
      seen.add(name.toLowerCase());
    }
  });
}

function nameOfDocument({ document }: Fields): string {
  return textIn(fieldsIn(document)["name"]) ?? "";
}

interface Place {
  readonly index: number;
  readonly memory: ProviderMemory | undefined;
  readonly model: string;
  readonly findings: BedrockFindings;
}

function checkMessage({ role, content }: Fields, place: Place): void {
  const { index, findings } = place;
  const blocks = listIn(content);
  const path = `messages[${index}].content`;
  if (blocks.length === 0) {
    const text = `The content field in the Message object at messages.${index} is empty.`;
    findings.add("empty-content", path, `${text} Add a ContentBlock object to the content field and try again.`);
  }
  blocks.forEach((block, at) => checkBlock(block, { ...place, at }));
  if (role === "assistant" && "reasoningContent" in (blocks.at(-1) ?? {})) {
    const text = "The final block in an assistant message cannot be `thinking`.";
    findings.add("thought-at-end", `${path}[${blocks.length - 1}]`, `messages.${index}: ${text}`);
  }
}

/** Members of the union ContentBlock. */
const members = [
  "text",
  "image",
  "document",
  "video",
  "audio",
  "toolUse",
  "toolResult",
  "guardContent",
  "cachePoint",
  "reasoningContent",
  "citationsContent",
  "searchResult",
];

function checkBlock(block: Fields, { at, ...place }: Place & { readonly at: number }): void {
  const { index, findings } = place;
  const path = `messages[${index}].content[${at}]`;
  const [member] = Object.keys(block);
  if (member === undefined || !members.includes(member)) {
    findings.add("block-form", path, `messages.${index}.content.${at}: no member of ContentBlock is set`);
  } else if (member === "text" && isBlank(block["text"])) {
    const text = `The text field in the ContentBlock object at messages.${index}.content.${at} is blank.`;
    findings.add("blank-text", path, `${text} Add text to the text field, and try again.`);
  } else if (member === "toolUse") {
    checkCall(fieldsIn(block["toolUse"]), { path, findings });
  } else if (member === "image") {
    checkImage(fieldsIn(block["image"]), { path, findings });
  } else if (member === "toolResult") {
    checkResult(fieldsIn(block["toolResult"]), { path, findings });
  } else if (member === "reasoningContent") {
    checkThought(fieldsIn(block["reasoningContent"]), { ...place, path });
  }
}

interface Part {
  readonly path: string;
  readonly findings: BedrockFindings;
}

function checkCall({ toolUseId: id, name, input }: Fields, { path, findings }: Part): void {
  if (typeof id !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(id)) {
    findings.add("call-id", path, "toolUse.toolUseId must satisfy regular expression pattern: [a-zA-Z0-9_-]+");
  }
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    findings.add("tool-name", path, "toolUse.name must satisfy regular expression pattern: [a-zA-Z0-9_-]+");
  }
  if (!isObject(input)) {
    const text =
      "The format of the value at toolUse.input is invalid. Provide a json object for the field and try again.";
    findings.add("block-form", path, text);
  }
}

function checkImage({ format, source }: Fields, { path, findings }: Part): void {
  if (!["png", "jpeg", "gif", "webp"].includes(String(format))) {
    findings.add("block-form", path, "image.format must be one of: png, jpeg, gif, webp");
  }
  if (Object.keys(fieldsIn(source)).length !== 1) {
    findings.add("block-form", path, "image.source: no member of ImageSource is set");
  }
}

function checkResult({ toolUseId, content }: Fields, { path, findings }: Part): void {
  if (textIn(toolUseId) === undefined || !Array.isArray(content)) {
    findings.add("block-form", path, "toolResult: toolUseId and content are required");
  }
  listIn(content).forEach((part, at) => {
    if (!["text", "json", "image", "document", "video", "searchResult"].includes(Object.keys(part)[0] ?? "")) {
      findings.add("block-form", `${path}.toolResult.content[${at}]`, "no member of ToolResultContentBlock is set");
    }
  });
}

/** A thought goes back to a model of Anthropic as it came, with the signature that it was given. */
function checkThought(thought: Fields, { memory, model, path, findings }: Place & Part): void {
  const { text, signature } = fieldsIn(thought["reasoningText"]);
  if (typeof text !== "string" || !model.includes("anthropic")) {
    return;
  }
  if (typeof signature !== "string") {
    findings.add("unsigned-thought", path, "thinking.signature: Field required");
  } else if (signature === "" || memory?.knows(signature) === false) {
    findings.add("foreign-thought", path, "Invalid `signature` in `thinking` block");
  }
}

function checkPair(
  messages: readonly Fields[],
  { index, findings }: { readonly index: number; readonly findings: BedrockFindings },
): void {
  const calls = idsIn(messages[index - 1], "toolUse");
  const results = idsIn(messages[index], "toolResult");
  if (new Set(calls).size < calls.length) {
    const text = `The toolUse blocks at messages.${index - 1}.content contain duplicate Ids`;
    findings.add("same-id", `messages[${index - 1}].content`, text);
  }
  const open = calls.filter((id) => !results.includes(id));
  if (open.length > 0) {
    const text = `Expected toolResult blocks at messages.${index}.content for the following Ids: ${open.join(", ")}`;
    findings.add("call-without-result", `messages[${index}].content`, text);
  }
  if (results.some((id) => !calls.includes(id)) || results.length > calls.length) {
    const text = `The number of toolResult blocks at messages.${index}.content exceeds the number of toolUse blocks`;
    findings.add("result-without-call", `messages[${index}].content`, `${text} of previous turn.`);
  }
  const isLast = index === messages.length - 1;
  if (isLast && idsIn(messages[index], "toolUse").length > 0) {
    const text = `Expected toolResult blocks at messages.${index + 1}.content`;
    findings.add("call-without-result", `messages[${index}].content`, text);
  }
}

function idsIn(message: Fields | undefined, member: string): string[] {
  return listIn(message?.["content"])
    .filter((block) => member in block)
    .map((block) => textIn(fieldsIn(block[member])["toolUseId"]) ?? "");
}
