import { profileOf, toModel } from "../../../src/entries/structure.js";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type CaughtRequest, withCaughtFetch } from "../../../testing/wire/caught-fetch.js";
import { sources } from "../wire-matrix/adapters.js";
import { makeConversation } from "../wire-matrix/conversations.js";
import { tool } from "../wire-matrix/matrix.js";
import { missingIn } from "../wire-matrix/replays.js";

// Sends the answers of every source through the chat models of LangChain's other packages, which have no adapter here,
// and prints one line of JSON a class: its profile, and each request that the class throws at or that lacks a text or a
// call. The packages are no dependencies: `npm run check:wire:others` installs them.

type ModelClass = new (options: object) => Model;

interface Model {
  invoke(messages: BaseMessage[], config: object): Promise<unknown>;
  bindTools?(tools: never[]): Omit<Model, "bindTools">;
}

const apiKey = "none";
/** A class of chat models, options with which one can be made, and what it takes no notice of. */
interface OtherClass {
  readonly from: string;
  readonly className: string;
  readonly options: object;
  readonly lacks?: readonly ("pictures" | "calls")[];
}

const workersAI = { model: "@cf/meta/llama-3.1-8b-instruct", cloudflareAccountId: "a", cloudflareApiToken: apiKey };
const classes: readonly OtherClass[] = [
  { from: "google-vertexai", className: "ChatVertexAI", options: { model: "gemini-2.5-pro", apiKey } },
  { from: "groq", className: "ChatGroq", options: { model: "openai/gpt-oss-120b", apiKey } },
  { from: "xai", className: "ChatXAI", options: { model: "grok-4", apiKey } },
  { from: "ollama", className: "ChatOllama", options: { model: "qwen3" } },
  { from: "openrouter", className: "ChatOpenRouter", options: { model: "openai/gpt-4o", apiKey } },
  { from: "cohere", className: "ChatCohere", options: { model: "command-a-03-2025", apiKey }, lacks: ["pictures"] },
  { from: "cloudflare", className: "ChatCloudflareWorkersAI", options: workersAI, lacks: ["pictures", "calls"] },
  { from: "cerebras", className: "ChatCerebras", options: { model: "gpt-oss-120b", apiKey } },
];

for (const { from, className, options, lacks = [] } of classes) {
  const made = (await import(`@langchain/${from}`)) as Readonly<Record<string, ModelClass>>;
  const model = new made[className]!(options);
  const { profile } = await profileOf(model);
  const wrong = await wrongRequests(model, lacks);
  process.stdout.write(`${JSON.stringify({ className, profile: profile.name, wrong })}\n`);
}
process.exit(0);

/** Defects of the requests, as `source seed: cause`. */
async function wrongRequests(model: Model, lacks: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const source of sources()) {
    for (const seed of [1, 2, 3]) {
      const made = await makeConversation(source, { seed, stops: false });
      // Up to the newest question: the answers behind it come from the model that is called.
      const asked = made.slice(0, made.findLastIndex((message) => message.getType() === "human") + 1);
      const messages = lacks.includes("pictures") ? asked.map(withoutPictures) : asked;
      const ready = await toModel(messages, { model, tools: [tool] });
      const { body, error } = await sent(model, ready.messages);
      const causes =
        body === undefined
          ? [String(error).slice(0, 80)]
          : missingIn(body, lacks.includes("calls") ? messages.map(withoutCalls) : messages);
      wrong.push(...causes.map((cause) => `${source.name} ${seed}: ${cause}`));
    }
  }
  return wrong;
}

function withoutPictures(message: BaseMessage): BaseMessage {
  return HumanMessage.isInstance(message) ? new HumanMessage(message.text) : message;
}

function withoutCalls(message: BaseMessage): BaseMessage {
  return AIMessage.isInstance(message) ? new AIMessage(message.text) : message;
}

/** The first request's body; the error of a class that sends none. */
async function sent(model: Model, messages: readonly BaseMessage[]) {
  const bodies: string[] = [];
  const called = model.bindTools?.([tool] as never[]) ?? model;
  const onRequest = ({ body }: CaughtRequest) => {
    bodies.push(JSON.stringify(body));
    return { status: 400, headers: {}, body: "{}" };
  };
  // ChatVertexAI fetches through a client of its own, and tells what it sends.
  const handleCustomEvent = (name: string, told: { readonly data?: unknown }) =>
    void (name.startsWith("google-request") && bodies.push(JSON.stringify(told.data)));
  const work = () => called.invoke([...messages], { callbacks: [{ handleCustomEvent }] });
  const error = await withCaughtFetch(called, { onRequest, work }).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return { body: bodies[0], error };
}
