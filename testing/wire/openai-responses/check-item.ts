import { type Fields, fieldsIn, listIn, textIn } from "../json.js";
import type { ResponsesFindings } from "./sources.js";

/** An item of the input, or a part of it. */
export interface ItemPlace {
  readonly path: string;
  readonly findings: ResponsesFindings;
}

/** Item types by the beginning of their ids; undefined where the id is not checked. */
const idOf: Readonly<Record<string, string | undefined>> = {
  message: "msg",
  function_call: "fc",
  function_call_output: "fc",
  reasoning: "rs",
  custom_tool_call: "ctc",
  custom_tool_call_output: undefined,
  computer_call: "cu",
  computer_call_output: undefined,
  web_search_call: "ws",
  file_search_call: "fs",
  code_interpreter_call: "ci",
  image_generation_call: "ig",
  mcp_call: "mcp",
  mcp_list_tools: "mcpl",
  mcp_approval_request: "mcpr",
  mcp_approval_response: undefined,
  local_shell_call: undefined,
  local_shell_call_output: undefined,
  shell_call: undefined,
  shell_call_output: undefined,
  apply_patch_call: undefined,
  apply_patch_call_output: undefined,
  tool_search_call: undefined,
  tool_search_output: undefined,
  item_reference: undefined,
  compaction: undefined,
  configuration_update: undefined,
};

/** Checks one item of the input by itself. */
export function checkItem(item: Fields, place: ItemPlace): void {
  const { path, findings } = place;
  const type = textIn(item["type"]) ?? "message";
  if (!Object.hasOwn(idOf, type)) {
    findings.add("item-type", `${path}.type`, `Invalid value: '${type}'.`);
    return;
  }
  const prefix = idOf[type];
  const { id } = item;
  if (id !== undefined && id !== null && prefix !== undefined && !(typeof id === "string" && id.startsWith(prefix))) {
    const text = `Invalid '${path}.id': '${String(id)}'. Expected an ID that begins with '${prefix}'.`;
    findings.add("item-id", `${path}.id`, text);
  }
  if (type === "message") {
    checkMessage(item, place);
  } else if (type === "function_call" || type.endsWith("_call_output")) {
    checkCall(item, { ...place, type });
  } else if (type === "reasoning" && !Array.isArray(item["summary"])) {
    findings.add("item-form", `${path}.summary`, `Missing required parameter: '${path}.summary'.`);
  }
}

const partsOf: Readonly<Record<string, readonly string[]>> = {
  user: ["input_text", "input_image", "input_file", "input_audio"],
  system: ["input_text", "input_image", "input_file"],
  developer: ["input_text", "input_image", "input_file"],
  assistant: ["output_text", "refusal"],
};

function checkMessage({ role, content }: Fields, { path, findings }: ItemPlace): void {
  const supported = typeof role === "string" ? partsOf[role] : undefined;
  if (supported === undefined) {
    const known = "'assistant', 'system', 'developer', and 'user'";
    findings.add("role", `${path}.role`, `Invalid value: '${String(role)}'. Supported values are: ${known}.`);
    return;
  }
  if (typeof content !== "string" && !Array.isArray(content)) {
    findings.add("item-form", `${path}.content`, `Missing required parameter: '${path}.content'.`);
  }
  listIn(content).forEach((part, at) => {
    const type = String(part["type"]);
    const where = `${path}.content[${at}]`;
    if (!supported.includes(type)) {
      const list = supported.map((value) => `'${value}'`).join(", ");
      findings.add("part-type", where, `Invalid value: '${type}'. Supported values are: ${list}.`);
    } else if (type.endsWith("_text") && typeof part["text"] !== "string") {
      findings.add("part-form", where, `Missing required parameter: '${where}.text'.`);
    } else if (type === "input_image") {
      checkImage(part, { path: where, findings });
    }
  });
}

function checkImage({ image_url: url, file_id: file }: Fields, { path, findings }: ItemPlace): void {
  const isUrl = typeof url === "string" && /^(?:https?:|data:image\/)/.test(url);
  if (!isUrl && typeof file !== "string") {
    const text = `Invalid '${path}.image_url'. Expected a valid URL, but got a value with an invalid format.`;
    findings.add("part-form", `${path}.image_url`, text);
  }
}

function checkCall(item: Fields, { path, type, findings }: ItemPlace & { readonly type: string }): void {
  const { call_id: id, name, arguments: given, output } = item;
  const text = idProblem(id, `${path}.call_id`);
  if (text !== undefined) {
    findings.add("call-id", `${path}.call_id`, text);
  }
  if (type === "function_call" && (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,128}$/.test(name))) {
    const pattern = "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.";
    findings.add("tool-name", `${path}.name`, `Invalid '${path}.name': string does not match pattern. ${pattern}`);
  }
  if (type === "function_call" && typeof given !== "string") {
    findings.add("item-form", `${path}.arguments`, `Missing required parameter: '${path}.arguments'.`);
  }
  if (type === "computer_call_output") {
    checkImage(fieldsIn(output), { path: `${path}.output`, findings });
  } else if (type === "function_call_output" || type === "custom_tool_call_output") {
    checkOutput(output, { path: `${path}.output`, findings });
  }
}

function checkOutput(output: unknown, { path, findings }: ItemPlace): void {
  if (typeof output !== "string" && !Array.isArray(output)) {
    findings.add("item-form", path, `Missing required parameter: '${path}'.`);
  }
  listIn(output).forEach(({ type }, at) => {
    const types = ["input_text", "input_image", "input_file"];
    if (!types.includes(String(type))) {
      const list = types.map((value) => `'${value}'`).join(", ");
      findings.add("part-type", `${path}[${at}]`, `Invalid value: '${String(type)}'. Supported values are: ${list}.`);
    }
  });
}

function idProblem(id: unknown, path: string): string | undefined {
  if (typeof id !== "string") {
    return `Missing required parameter: '${path}'.`;
  }
  if (id === "") {
    return `Invalid '${path}': empty string. Expected a string with minimum length 1, but got an empty string instead.`;
  }
  const got = `but got a string with length ${id.length} instead.`;
  return id.length > 64
    ? `Invalid '${path}': string too long. Expected a string with maximum length 64, ${got}`
    : undefined;
}
