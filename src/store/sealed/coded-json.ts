/**
 * Dictionary: each frequent piece of a message's JSON (escapes, keys of LangChain and of providers) is written as one
 * control character that JSON cannot contain. Part of the stored format: entries may not change.
 *
 * No entry is user text, so the length of a sealed message depends only on the lengths of its texts. General
 * compression would reveal by the length whether texts repeat.
 */
const codedTexts = [
  String.raw`\\`,
  String.raw`\"`,
  String.raw`\n`,
  '{"content":"',
  '{"content":[{',
  '"type":"text","text":"',
  ',"tool_calls":[{',
  '"type":"tool_call"',
  '"id":"',
  '"name":"',
  '"args":{',
  ',"tool_call_id":"',
  ',"status":"success"',
  ',"additional_kwargs":{',
  ',"response_metadata":{',
  ',"usage_metadata":{',
  '"input_tokens":',
  '"output_tokens":',
  ',"total_tokens":',
  '"input_token_details":{',
  '"output_token_details":{',
  '"cache_read":',
  '"reasoning":',
  '"model_name":"',
  '"model_provider":"',
  '"finish_reason":"',
  '"tokenUsage":{"promptTokens":',
  ',"completionTokens":',
  ',"totalTokens":',
];

/** The control characters but tab, line feed and carriage return, which may stand between the values of JSON. */
const codes = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter(
  (code) => !"\t\n\r".includes(code),
);
const codeOf = new Map(codedTexts.map((text, index) => [text, codes[index]!]));
const textOf = new Map(codedTexts.map((text, index) => [codes[index]!, text]));
const anyText = new RegExp(codedTexts.map((text) => text.replace(/[{[\\]/g, "\\$&")).join("|"), "g");
const anyCode = new RegExp(`[${codes.join("")}]`, "g");

/** The JSON of a message with codes in place of its usual parts; undefined for text that holds codes already. */
export function codeJson(json: string): string | undefined {
  return json.search(anyCode) < 0 ? json.replace(anyText, (text) => codeOf.get(text)!) : undefined;
}

/** Inverse of {@link codeJson}. Returns JSON without codes unchanged. */
export function decodeJson(coded: string): string {
  return coded.replace(anyCode, (code) => textOf.get(code)!);
}
