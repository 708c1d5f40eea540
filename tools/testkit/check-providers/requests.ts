import { type AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { toModel, wired } from "../../../src/entries/structure.js";
import type { WireModel } from "../../../testing/wire/capture-wire.js";
import { sources } from "../wire-matrix/adapters.js";
import { makeConversation } from "../wire-matrix/conversations.js";
import { operations } from "../wire-matrix/operations.js";

/** A request whose answer is not looked at. */
export interface Request {
  readonly name: string;
  /** Sends it. @throws the adapter's error if it is refused. */
  send(): Promise<void>;
  /** The texts of the conversation, which are left out of errors. */
  readonly texts: readonly string[];
}

/** Operations of the wire matrix that go on from an answer of the provider itself. */
const tried = [
  "none",
  "truncation",
  "summary",
  "clip",
  "repair, filled",
  "merge",
  "sanitize",
  "interrupted",
  "recalled",
  "rewind",
];
const foreign = ["openai-chat", "responses", "anthropic", "google", "mistral", "bedrock"];
const questions = [
  "What is the weather in Oslo and in Bergen? Look both up.",
  "Look up Rome as well.",
  "Which is warmest?",
];

/** A conversation with the model: each question, its calls and their results. @throws the adapter's error. */
export async function converse(model: WireModel): Promise<BaseMessage[]> {
  const ready = wired(withTool(model) as unknown as Parameters<typeof wired>[0]) as unknown as WireModel;
  const messages: BaseMessage[] = [];
  for (const question of questions) {
    messages.push(new HumanMessage(question));
    for (let step = 0; step < 4; step += 1) {
      const answer = (await ready.invoke(messages)) as AIMessage;
      const results = (answer.tool_calls ?? []).map((call) => {
        return new ToolMessage({ content: `${"Mild. ".repeat(20)}`, name: call.name, tool_call_id: call.id ?? "" });
      });
      messages.push(answer, ...results);
      if (results.length === 0) {
        break;
      }
    }
  }
  return [...messages, new HumanMessage("Thank you. Say good-bye.")];
}

/** The requests that go on from a conversation with the model, and from answers of other providers. */
export async function requestsOf(model: WireModel, own: RegExp, said: readonly BaseMessage[]): Promise<Request[]> {
  const requests: Request[] = [];
  for (const { name, apply } of operations.filter((operation) => tried.includes(operation.name))) {
    requests.push(requestOf(model, `its own answers: ${name}`, await apply([...said])));
  }
  const named = said.map((message) =>
    message.getType() === "human" ? new HumanMessage({ content: message.content, name: "Ema Vargova" }) : message,
  );
  requests.push(requestOf(model, "its own answers: a name with a space", named));
  for (const source of sources().filter(({ name }) => foreign.includes(name) && !own.test(name))) {
    const messages = await makeConversation(source, { seed: 1 });
    requests.push(requestOf(model, `answers of ${source.name}`, messages));
  }
  return requests;
}

function requestOf(model: WireModel, name: string, messages: readonly BaseMessage[]): Request {
  const bound = withTool(model);
  const send = async () => {
    const ready = await toModel(messages, { model: bound });
    await bound.invoke(ready.messages);
  };
  return { name, send, texts: messages.map(({ text }) => text).filter((text) => text.length > 3) };
}

const lookup = {
  type: "function",
  function: {
    name: "lookup",
    description: "Looks up the weather of a city.",
    parameters: { type: "object", properties: { q: { type: "string", description: "The city." } }, required: ["q"] },
  },
};

function withTool(model: WireModel): WireModel {
  return model.bindTools!([lookup] as never[]);
}
