import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { repairConversation, validateConversation } from "../../src/entries/structure.js";
import { ai, human } from "../support/messages.js";

const data = "JVBERi0=";
const forModel = (profile: "bedrock" | "openai-responses") => ({ profile, purpose: "model-input" }) as const;

describe("documents for Bedrock", () => {
  const named = (name: string | undefined, form: number) =>
    [
      { type: "file", source_type: "base64", mime_type: "application/pdf", data, ...(name && { metadata: { name } }) },
      { type: "file", mimeType: "application/pdf", data, ...(name && { metadata: { filename: name } }) },
      { type: "document", document: { name, format: "pdf", source: { bytes: new Uint8Array([1]) } } },
    ][form % 3] as never;
  const ask = (name: string | undefined, form: number) =>
    new HumanMessage({ content: [{ type: "text", text: "See." }, named(name, form)] });
  const calling = (id: string) => new AIMessage({ content: "", tool_calls: [{ id, name: "read", args: {} }] });

  function namesIn(messages: readonly BaseMessage[]): string[] {
    const blocks = messages.flatMap(({ content }) => content as unknown as Record<string, Record<string, string>>[]);
    return blocks.flatMap(({ document, metadata }) => document?.["name"] ?? metadata?.["name"] ?? []);
  }
  const sent = (messages: BaseMessage[]) => namesIn(repairConversation(messages, forModel("bedrock")).messages);

  const letters = fc.constantFrom("a", "B", ".", "_", " ", "\t", "\u3000", "é", "資", "(", "1", "/", "x".repeat(120));
  const anyName = fc.option(fc.string({ unit: letters, maxLength: 4 }), { nil: undefined });

  it("have names that AWS takes, each once, and keep them in later turns", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyName, fc.nat(2), fc.boolean()), { minLength: 1 }), (documents) => {
        const messages = documents.flatMap(([name, form, isResult], index): BaseMessage[] =>
          isResult
            ? [
                human("Read."),
                calling(`c${index}`),
                new ToolMessage({ content: [named(name, form)], tool_call_id: `c${index}`, name: "read" }),
                ai("Seen."),
              ]
            : [ask(name, form), ai("Seen.")],
        );
        const names = sent([...messages, human("And?")]);
        expect(names).toHaveLength(documents.length);
        expect(names.filter((name) => !/^[A-Za-z0-9()[\]-](?:[A-Za-z0-9()[\] -]{0,199})$/.test(name))).toEqual([]);
        expect(names.filter((name) => /\s\s|\s$/.test(name))).toEqual([]);
        expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
        expect(sent([...messages, ask("later.pdf", 0)]).slice(0, -1)).toEqual(names);
        const once = repairConversation([...messages, human("And?")], forModel("bedrock")).messages;
        expect(repairConversation(once, forModel("bedrock")).repairs).toEqual([]);
      }),
    );
  });

  it("keep what can be read of a name", () => {
    const given = [
      "Dr. Smith.pdf",
      "résumé.pdf",
      "Report.pdf",
      "report.pdf",
      undefined,
      "資料",
      `${"x".repeat(300)}.pdf`,
    ];
    expect(sent(given.flatMap((name) => [ask(name, 1), ai("a")]).slice(0, -1))).toEqual([
      ...["Dr Smith pdf", "resume pdf", "Report pdf", "report pdf 2", "file", "file 2", "x".repeat(200)],
    ]);
  });
});

describe("items of OpenAI's Responses API", () => {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
  const text = { type: "output_text", text: "Hello", annotations: [] };
  const message = { type: "message", id: "msg_1", role: "assistant", content: [text] };
  const cached: Record<string, () => AIMessage> = {
    "a raw output": () =>
      new AIMessage({
        content: [{ type: "text", text: "Hello" }],
        response_metadata: { model_provider: "openai", output: [reasoning, message] },
      }),
    "a thought of its own": () =>
      new AIMessage({
        content: "Hello",
        additional_kwargs: { reasoning },
        response_metadata: { model_provider: "openai" },
      }),
  };

  it.each(Object.keys(cached))("go out once, where one answer stands in a request twice: %s", (form) => {
    const list = [human("hi"), cached[form]!(), human("hi"), cached[form]!(), human("?")];
    const options = forModel("openai-responses");
    expect(validateConversation(list, options).map(({ index }) => index)).toEqual([3]);
    const { messages } = repairConversation(list, options);
    expect(messages[1]).toBe(list[1]);
    expect([messages[3]!.text, messages[3]!.additional_kwargs]).toEqual(["Hello", {}]);
    expect(messages[3]!.response_metadata).not.toHaveProperty("output");
    expect(validateConversation(messages, options)).toEqual([]);
    // The first one may leave the view, and the second one goes out whole again.
    expect(validateConversation(list.slice(2), options)).toEqual([]);
  });
});
