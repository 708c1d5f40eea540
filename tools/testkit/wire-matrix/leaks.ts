import { type AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { BaseTracer, type Run } from "@langchain/core/tracers/base";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  ChatHistorySummarizationReducer,
  InMemorySessionStore,
  type MemoryEvent,
  RedisChatMemory,
} from "../../../src/entries/index.js";
import { redact, toModel } from "../../../src/entries/structure.js";
import { captureWire } from "../../../testing/wire/capture-wire.js";
import { checkWire } from "../../../testing/wire/check-wire.js";
import { type Source, sources, type Target, targets } from "./adapters.js";
import { nativeAnswer } from "./conversations.js";
import { tool } from "./matrix.js";

const marker = "kestrelquartz";
/** Either half: a stream cuts texts into pieces. */
const sign = /kestrel|quartz/;
/** The middle of each text, where streams are cut, lies inside of the marker. */
const text = `Card ${marker} here`;
const mark = "[redacted]";

/** Parts of a marker that redacted answers left behind. */
export interface LeakReport {
  /** Places in which a part of the marker was found, as `source whole` or `source streamed`, then the place. */
  readonly leaks: readonly string[];
  /** Requests with redacted answers that are not valid, with the rule. */
  readonly refused: readonly string[];
  /** Answers whose own form held the marker less than twice, or whose export does not show the mark. */
  readonly unproven: readonly string[];
}

/** Keeps what ended runs were given and gave. */
class Tracer extends BaseTracer {
  readonly name = "leaks";
  override readonly awaitHandlers = true;
  readonly ended: unknown[] = [];
  protected override persistRun(): Promise<void> {
    return Promise.resolve();
  }
  override onRunUpdate({ inputs, outputs }: Run): void {
    this.ended.push({ inputs, outputs });
  }
}

/** Stores answers of every source with a marker in text, thought, arguments and search, redacted; and looks for it. */
export async function leakReport(): Promise<LeakReport> {
  const leaks: string[] = [];
  const refused: string[] = [];
  const unproven: string[] = [];
  const all = targets();
  for (const source of sources()) {
    for (const isStreamed of [false, true]) {
      const name = `${source.name} ${isStreamed ? "streamed" : "whole"}`;
      const turn = await makeTurn(source, isStreamed);
      const { exported, places, rules } = await placesOf(turn, all);
      const found = Object.entries(places).filter(([, held]) => sign.test(held));
      leaks.push(...found.map(([place]) => `${name}: ${place}`));
      refused.push(...rules.map((rule) => `${name} > ${rule}`));
      const times = JSON.stringify(turn[1]).split(marker).length - 1;
      unproven.push(...(times < 2 || !exported.includes(mark) ? [name] : []));
    }
  }
  return { leaks, refused, unproven };
}

async function makeTurn(source: Source, isStreamed: boolean): Promise<BaseMessage[]> {
  const made = source.made.filter((part) => part !== "image");
  const reply = {
    content: text,
    toolCalls: [{ name: "lookup", arguments: { q: marker } }],
    ...(made.includes("thinking") && { thinking: text }),
    ...(made.includes("search") && { search: text }),
  };
  const answer = await nativeAnswer(source, { reply, isStreamed });
  const results = ((answer as AIMessage).tool_calls ?? []).map(({ id, name }) => {
    return new ToolMessage({ content: text, artifact: { card: marker }, tool_call_id: id ?? "", name });
  });
  return [new HumanMessage(text), answer, ...results, new HumanMessage("And now?")];
}

interface Places {
  readonly exported: string;
  readonly places: Readonly<Record<string, string>>;
  /** Violations in requests, as `target: rule`. */
  readonly rules: readonly string[];
}

/** The contents of the store, exports, events, traces and each adapter's request after the turn was stored. */
async function placesOf(turn: readonly BaseMessage[], all: readonly Target[]): Promise<Places> {
  const events: MemoryEvent[] = [];
  const store = new InMemorySessionStore();
  const reducer = new ChatHistorySummarizationReducer({
    model: new FakeListChatModel({ responses: ["A summary."] }),
    targetCount: 1,
  });
  const onEvent = (event: MemoryEvent) => events.push(event);
  const memory = new RedisChatMemory({ store, beforeStore: redact(marker), reducer, reduceWhen: "never", onEvent });
  const history = memory.history("s");
  await history.append(turn, { turnId: "t" });
  const view = await history.getMessages();
  const stored = await store.readView({ id: "s" });
  const lines: string[] = [];
  for await (const line of memory.sessions.export("s")) {
    lines.push(line);
  }
  const tracer = new Tracer();
  await history.reduceView({ callbacks: [tracer] });
  const places: Record<string, string> = {
    store: JSON.stringify(stored),
    export: lines.join("\n"),
    events: JSON.stringify(events),
    traces: JSON.stringify(tracer.ended),
  };
  const rules: string[] = [];
  for (const { name, model, memory: given } of all) {
    const { messages } = await toModel(view, { model, tools: [tool] });
    const wire = await captureWire(model, messages, { tools: [tool] });
    places[name] = JSON.stringify(wire.body);
    const violations = checkWire(wire.kind, wire.body, { model: wire.model, memory: given });
    rules.push(...violations.map(({ rule }) => `${name}: ${rule}`));
  }
  return { exported: lines.join("\n"), places, rules };
}
