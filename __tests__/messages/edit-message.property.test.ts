import { AIMessage } from "@langchain/core/messages";
import { load } from "@langchain/core/load";
import fc from "fast-check";
import { encodeMessage } from "../../src/store/codec/encode-message.js";
import { copyMessage } from "../../src/store/codec/stored-record.js";
import { editMessage, type MessageEdit } from "../../src/conversation/messages/copies/edit-message.js";
import { redact } from "../../src/conversation/messages/copies/redact.js";
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
        expect([shown(renamed), shown(removed)].some((text) => text.includes('"SIG"'))).toBe(false);
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

describe("an edited answer", () => {
  const answer = () => nativeAnswers["openai responses"]!({ text: "Hi", thought: "Hm", args: { q: 1 } });

  it.each<[string, MessageEdit]>([
    ["a call that goes", { calls: ({ id }) => (id === "call_1" ? "remove" : undefined) }],
    ["thoughts that go", { thoughts: "remove" }],
    ["a thought that says something else", { thoughts: (text) => text.replace("Hm", "Ha") }],
  ])("is a text and calls, without a raw output, ids of items and thoughts: %s", (_, edit) => {
    const { content, additional_kwargs, response_metadata, tool_calls } = editMessage(answer(), edit);
    const left = answer().tool_calls!.filter(({ id }) => edit.calls === undefined || id !== "call_1");
    expect({ content, additional_kwargs, tool_calls }).toEqual({
      content: "Hi",
      additional_kwargs: {},
      tool_calls: left.map(({ type, id, name, args }) => ({ type, id, name, args })),
    });
    expect(response_metadata).not.toHaveProperty("output");
  });

  it("keeps its pictures, and the words with which it refuses", () => {
    const picture = { type: "inlineData", inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
    const drawn = new AIMessage({ content: [{ type: "text", text: "a" }, picture] as never });
    expect(editMessage(drawn, { text: () => "b" }).content).toEqual([{ type: "text", text: "b" }, picture]);
    const refused = new AIMessage({ content: "", additional_kwargs: { refusal: "No, Ann." } });
    const edited = editMessage(refused, { text: (text) => text.replace("Ann", "you") });
    expect([edited.content, edited.additional_kwargs]).toEqual(["No, you.", {}]);
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
    expect(redact(marker)(pieces("card 4111", "-2222 it is")).content).toBe("Done.");
    const same = pieces("first", "second");
    expect(redact(marker)(same)).toBe(same);
  });
});
