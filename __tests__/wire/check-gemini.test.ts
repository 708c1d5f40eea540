import { checkWire } from "../../testing/wire/check-wire.js";
import { ProviderMemory } from "../../testing/wire/provider-memory.js";

// The valid requests follow the examples of ai.google.dev: text generation, function calling, thought signatures.
const user = { role: "user", parts: [{ text: "Check flight AA100 and book a taxi." }] };
const call = (name: string, signature?: string) => ({
  functionCall: { name, args: { flight: "AA100" } },
  ...(signature !== undefined && { thoughtSignature: signature }),
});
const response = (name: string) => ({ functionResponse: { name, response: { result: "delayed" } } });
const model = (...parts: object[]) => ({ role: "model", parts });
const told = (...parts: object[]) => ({ role: "user", parts });
const said = model({ text: "It is delayed." });

function rulesOf(contents: unknown, options: { model?: string; memory?: ProviderMemory } = {}): string[] {
  const found = checkWire("gemini", { contents }, { model: "gemini-2.5-pro", ...options });
  return found.map(({ rule }) => rule.replace("gemini/", ""));
}

it.each<[string, object[]]>([
  ["a question", [user]],
  ["an answer and a question", [user, said, user]],
  ["a call and its response", [user, model(call("check")), told(response("check"))]],
  ["parallel calls", [user, model(call("a"), call("b")), told(response("a"), response("b"))]],
  ["responses in contents of their own", [user, model(call("a"), call("b")), told(response("a")), told(response("b"))]],
  ["a step after a step", [user, model(call("a")), told(response("a")), model(call("b")), told(response("b"))]],
  ["a thought", [user, model({ text: "Hm.", thought: true }, { text: "Delayed.", thoughtSignature: "AbCd" }), user]],
  ["code", [user, model({ executableCode: { code: "1" } }, { codeExecutionResult: { output: "1" } }), user]],
  ["a picture", [told({ inlineData: { mimeType: "image/png", data: "iVBOR" } })]],
])("Gemini accepts %s", (_, contents) => {
  expect(rulesOf(contents)).toEqual([]);
});

it.each<[string, string, object[]]>([
  ["no-contents", "nothing", []],
  ["role", "an unknown role", [{ ...user, role: "assistant" }]],
  ["empty-parts", "a message without parts", [user, model(), user]],
  ["part-form", "an empty text", [user, model({ text: "" }), user]],
  ["part-form", "a part of another provider", [told({ toolUse: {} })]],
  ["unknown-name", "a field of LangChain's", [told({ type: "text", text: "Hi" })]],
  ["unknown-name", "a field of LangChain's in data", [told({ inlineData: { mime_type: "image/png", data: "iVBOR" } })]],
  ["tool-name", "a call without a name", [user, model({ functionCall: { args: {} } }), told(response(""))]],
  ["call-order", "a call behind an answer", [user, said, model(call("a")), told(response("a"))]],
  ["response-order", "a response of nothing", [user, told(response("a"))]],
  ["response-count", "an open call", [user, model(call("a")), user]],
  ["response-count", "one of two responses", [user, model(call("a"), call("b")), told(response("a"))]],
  ["response-count", "two responses of one call", [user, model(call("a")), told(response("a"), response("a"))]],
  ["response-name", "a response of another function", [user, model(call("a")), told(response("b"))]],
  ["foreign-signature", "a signature that is none", [user, model(call("a", "")), told(response("a"))]],
  ["last-message", "an answer at the end", [user, said]],
])("Gemini refuses (%s) %s", (rule, _, contents) => {
  expect(rulesOf(contents)).toContain(rule);
});

describe("Gemini 3", () => {
  const memory = new ProviderMemory();
  memory.noteProof("AbCd");
  const options = { model: "gemini-3-pro-preview", memory };

  it.each<[string, object[], string[]]>([
    ["signed steps", [user, model(call("a", "AbCd"), call("b")), told(response("a"), response("b"))], []],
    ["an unsigned step", [user, model(call("a")), told(response("a"))], ["missing-signature"]],
    ["an unsigned step of an earlier turn", [user, model(call("a")), told(response("a")), said, user], []],
    [
      "a signature on the second call",
      [user, model(call("a"), call("b", "AbCd")), told(response("a"), response("b"))],
      ["missing-signature"],
    ],
    ["a foreign signature", [user, model(call("a", "Xy12")), told(response("a"))], ["foreign-signature"]],
    [
      "the documented placeholder",
      [user, model(call("a", "skip_thought_signature_validator")), told(response("a"))],
      [],
    ],
  ])("%s", (_, contents, rules) => {
    expect(rulesOf(contents, options)).toEqual(rules);
  });
});
