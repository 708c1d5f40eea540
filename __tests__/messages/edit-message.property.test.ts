import { AIMessage } from "@langchain/core/messages";
import { load } from "@langchain/core/load";
import fc from "fast-check";
import { encodeMessage } from "../../src/codec/encode-message.js";
import { copyMessage } from "../../src/codec/copy-message.js";
import { editMessage } from "../../src/messages/copies/edit-message.js";
import { redact } from "../../src/messages/copies/redact.js";
import { nativeAnswers, type Said } from "../support/native-answers.js";

const marker = "4111-2222";
const words = fc.string({ unit: fc.constantFrom("a", "b", " ", "é", '"', "\\", "\n") });
const marked = words.map((text) => `${text}x ${marker}${text}`);
const plain = words.map((text) => `${text}x`);

function said(text: fc.Arbitrary<string>): fc.Arbitrary<Said> {
  return fc.record({ text, thought: text, args: fc.record({ q: text, deep: fc.record({ list: fc.tuple(text) }) }) });
}

/** The message as programs show it: its JSON and its own fields, LangChain's copy of the arguments included. */
function shown(message: AIMessage): string {
  return JSON.stringify(message) + JSON.stringify({ ...message }) + encodeMessage(message, { id: "m" }).record;
}

describe.each(Object.entries(nativeAnswers))("editMessage on an answer of %s", (_, answer) => {
  it("gives the very same object for an edit that changes nothing", () => {
    fc.assert(
      fc.property(said(plain), (given) => {
        const message = answer(given);
        const same = (text: string) => text;
        const copied = ({ args }: { args: unknown }) => ({ args: structuredClone(args) as Record<string, unknown> });
        expect(editMessage(message, { text: same, thoughts: same, calls: copied })).toBe(message);
        expect(redact(marker)(message)).toBe(message);
      }),
    );
  });

  it("leaves no trace of what redact takes out, and changes neither its input nor anything else", () => {
    fc.assert(
      fc.property(said(marked), (given) => {
        const message = answer(given);
        const before = shown(message);
        const clean = redact(marker)(message);
        expect(shown(clean)).not.toContain(marker);
        expect(shown(message)).toBe(before);
        expect(clean.tool_calls!.map(({ id }) => id)).toEqual(["call_1", "call_2"]);
        expect(clean.tool_calls![0]!.args["q"]).toBe((given.args["q"] as string).replace(marker, "[redacted]"));
        expect(shown(copyMessage(clean) as AIMessage)).not.toContain(marker);
      }),
    );
  });

  it("leaves no trace of an id that is renamed, or of a call that is removed", () => {
    fc.assert(
      fc.property(said(plain), fc.constantFrom("call_1", "call_2"), (given, old) => {
        const message = answer(given);
        const renamed = editMessage(message, { calls: ({ id }) => (id === old ? { id: "renamed" } : undefined) });
        expect(shown(renamed)).not.toContain(`"${old}"`);
        expect(renamed.tool_calls!.map(({ id }) => id)).toContain("renamed");
        const removed = editMessage(message, { calls: ({ id }) => (id === old ? "remove" : undefined) });
        expect(shown(removed)).not.toContain(`"${old}"`);
        expect(removed.tool_calls).toHaveLength(1);
        expect(shown(removed).includes('"SIG"')).toBe(shown(message).includes('"SIG"'));
      }),
    );
  });

  it("comes back from LangChain's own JSON, and from a record, as it is", async () => {
    const message = answer({ text: `see ${marker}`, thought: `think ${marker}`, args: { q: marker } });
    const clean = redact(marker)(message);
    const loaded = await load<AIMessage>(JSON.stringify(clean));
    expect(encodeMessage(loaded, { id: "m" })).toEqual(encodeMessage(clean, { id: "m" }));
    expect(shown(redact(marker)(await load<AIMessage>(JSON.stringify(message))))).not.toContain(marker);
    expect(copyMessage(clean).content).toEqual(clean.content);
  });
});

describe("editMessage on raw output of OpenAI's Responses API", () => {
  const answer = nativeAnswers["openai responses"]!({ text: "Hi", thought: "Hm", args: { q: 1 } });
  const types = (message: AIMessage) =>
    (message.response_metadata["output"] as Record<string, unknown>[]).map(({ type, id }) => [type, id]);

  it("keeps the thought of a call that goes while another follows it", () => {
    const edited = editMessage(answer, { calls: ({ id }) => (id === "call_1" ? "remove" : undefined) });
    expect(types(edited)).toEqual([
      ["reasoning", "rs_1"],
      ["web_search_call", "ws_1"],
      ["message", "msg_1"],
      ["function_call", "fc_2"],
    ]);
    expect(edited.additional_kwargs["__openai_function_call_ids__"]).toEqual({ call_2: "fc_2" });
  });

  it("takes the ids from what followed a thought that goes, in every copy", () => {
    const edited = editMessage(answer, { thoughts: "remove" });
    expect(types(edited)).toEqual([
      ["message", undefined],
      ["function_call", undefined],
      ["function_call", undefined],
    ]);
    expect(edited.content).toEqual([{ type: "text", text: "Hi", annotations: [] }]);
    expect(edited.additional_kwargs).toEqual({});
  });

  it("finds a pattern that spans two blocks", () => {
    const split = nativeAnswers["anthropic"]!({ text: "card 4111", thought: "", args: {} });
    (split.content as object[]).push({ type: "text", text: "-2222 it is" });
    expect(redact(marker)(split).text).toBe("card [redacted] it is");
  });

  it("finds a pattern that spans two pieces of a thought, and keeps the pieces where none does", () => {
    const pieces = (first: string, second: string) =>
      new AIMessage({
        content: [
          { type: "thinking", thinking: first },
          { type: "thinking", thinking: second },
          { type: "text", text: "Done." },
        ],
      });
    expect(redact(marker)(pieces("card 4111", "-2222 it is")).content).toEqual([
      { type: "thinking", thinking: "card [redacted] it is" },
      { type: "text", text: "Done." },
    ]);
    const each = redact(marker)(pieces(`${marker} first`, "second")).content;
    expect(each).toEqual(pieces("[redacted] first", "second").content);
    const same = pieces("first", "second");
    expect(redact(marker)(same)).toBe(same);
  });
});
