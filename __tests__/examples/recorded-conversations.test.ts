import { readFileSync } from "node:fs";
import { join } from "node:path";

interface RecordedMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

interface Recording {
  readonly id: string;
  readonly messages: readonly RecordedMessage[];
}

const recordings = readFileSync(join(__dirname, "../../examples/data/recorded-conversations.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Recording);

describe("the recorded conversations", () => {
  it("differ in length and language", () => {
    expect(recordings.length).toBeGreaterThanOrEqual(3);
    expect(new Set(recordings.map(({ id }) => id)).size).toBe(recordings.length);
    expect(recordings[0]!.messages.length).toBeGreaterThanOrEqual(48);
    expect(
      recordings.filter(({ messages }) => messages.length >= 20 && messages.length <= 40).length,
    ).toBeGreaterThanOrEqual(2);
    expect(recordings.some(({ messages }) => textOf(messages).match(/\p{Script=Hiragana}/u))).toBe(true);
  });

  it("contain hard cases: parallel calls, a failed and repeated call, a long result, a long chain", () => {
    const first = recordings[0]!.messages;
    expect(first.filter(({ tool_calls: calls = [] }) => calls.length >= 2).length).toBeGreaterThanOrEqual(3);
    expect(
      first.some(
        (message, index) => message.role === "tool" && /"error"/.test(String(message.content)) && repeats(first, index),
      ),
    ).toBe(true);
    expect(first.some(({ role, content }) => role === "tool" && inRange(String(content).length, 2_000, 3_000))).toBe(
      true,
    );
    expect(Math.max(...recordings.map(({ messages }) => longestChain(messages)))).toBeGreaterThanOrEqual(8);
  });
});

describe.each(recordings)("the recorded conversation $id", ({ messages }) => {
  it("begins with system and user, ends with assistant text, and has only text content", () => {
    expect(messages.slice(0, 2).map(({ role }) => role)).toEqual(["system", "user"]);
    expect(messages.at(-1)).toEqual({ role: "assistant", content: expect.stringMatching(/\S/) });
    expect(messages.filter(({ content }) => typeof content !== "string")).toEqual([]);
    expect(messages.filter(({ role }) => !["system", "user", "assistant", "tool"].includes(role))).toEqual([]);
    expect(messages.filter(({ role }) => role === "system")).toHaveLength(1);
    expect(messages.filter(({ content, tool_calls: calls }) => content === "" && calls === undefined)).toEqual([]);
  });

  it("alternates between user and assistant, apart from tool exchanges", () => {
    const said = messages.filter(
      ({ role, tool_calls: calls }) => role === "user" || (role === "assistant" && calls === undefined),
    );
    expect(said.map(({ role }) => role)).toEqual(said.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
  });

  it("answers every call directly after its message, in order and by name", () => {
    const expected = messages.flatMap((message) => [
      ...(message.role === "tool" ? [] : [message.role]),
      ...(message.tool_calls ?? []).map(callKey),
    ]);
    expect(
      messages.map((message) => (message.role === "tool" ? `${message.tool_call_id} ${message.name}` : message.role)),
    ).toEqual(expected);
  });

  it("uses no call id twice, and arguments are objects", () => {
    const calls = messages.flatMap(({ tool_calls: made = [] }) => made);
    expect(calls.length).toBeGreaterThan(0);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    expect(calls.filter(({ id, type }) => !/^call_[A-Za-z0-9]{24}$/.test(id) || type !== "function")).toEqual([]);
    expect(
      calls
        .map((call) => JSON.parse(call.function.arguments) as unknown)
        .every((value) => value?.constructor === Object),
    ).toBe(true);
  });
});

function callKey(call: NonNullable<RecordedMessage["tool_calls"]>[number]): string {
  return `${call.id} ${call.function.name}`;
}

function textOf(messages: readonly RecordedMessage[]): string {
  return messages.map(({ content }) => String(content)).join("\n");
}

/**
 * True if the call that the result at `index` answers is made again, with the same arguments, by the message right
 * after it.
 */
function repeats(messages: readonly RecordedMessage[], index: number): boolean {
  const calls = messages.flatMap(({ tool_calls: made = [] }) => made);
  const failed = calls.find(({ id }) => id === messages[index]!.tool_call_id)?.function;
  const again = messages[index + 1]?.tool_calls?.[0]?.function;
  return failed !== undefined && again?.name === failed.name && again.arguments === failed.arguments;
}

/** The largest number of assistant messages in a row that call tools. */
function longestChain(messages: readonly RecordedMessage[]): number {
  const marks = messages
    .filter(({ role }) => role !== "tool")
    .map(({ tool_calls: calls }) => (calls === undefined ? " " : "x"));
  return Math.max(
    ...marks
      .join("")
      .split(" ")
      .map(({ length }) => length),
  );
}

function inRange(value: number, low: number, high: number): boolean {
  return value >= low && value <= high;
}
