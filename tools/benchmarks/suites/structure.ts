import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import {
  repairConversation,
  stampAnswer,
  toModel,
  validateConversation,
  walkLedger,
} from "langchain-redis-memory/structure";
import { compute } from "../measure/compute.js";
import { chartOf } from "../report/charts.js";
import { comparisonTable, digits, time, whole } from "../report/format.js";
import type { Case, Section, Setting } from "../report/section.js";
import { conversation } from "../setting/messages.js";

/**
 * Up to so many times the time a message at ten times the messages, it is linear: the rest is what the machine wavers.
 */
const linear = 1.3;

/**
 * Time of validating and repairing conversations of which one result in fifty is missing and one stands without a call.
 */
export async function structureSuite({ quick }: Setting): Promise<Section> {
  const lengths = quick ? [100, 1_000] : [1_000, 10_000, 100_000];
  const cases: Case[] = [];
  for (const length of lengths) {
    const messages = broken(length);
    const { repairs } = repairConversation(messages, { profile: "openai" });
    if (repairs.length === 0) {
      throw new Error("There was nothing to repair.");
    }
    const computations = [
      { name: "validate, profile openai", run: () => validateConversation(messages, { profile: "openai" }) },
      { name: "repair, profile openai", run: () => repairConversation(messages, { profile: "openai" }) },
      { name: "repair, profile anthropic", run: () => repairConversation(messages, { profile: "anthropic" }) },
    ];
    cases.push({
      name: whole(length),
      measured: await compute(computations, { turns: quick ? 1 : 4, milliseconds: quick ? 5 : 150 }),
    });
  }
  const ledger = await ledgerCase(quick);
  const [shorter, longest] = [cases.at(-2)!, cases.at(-1)!];
  const growth =
    Math.max(...[0, 1].map((index) => longest.measured[index]!.median / shorter.measured[index]!.median)) /
    (lengths.at(-1)! / lengths.at(-2)!);
  return {
    title: "Validation and repair",
    about: "None of the peers has the like; the times are to show that they are linear.",
    tables: [comparisonTable("By number of messages", cases), comparisonTable("Prefix ledger", [ledger])],
    charts: [chartOf("Validation and repair", "messages", { cases, xs: lengths })],
    targets: [
      {
        what: `the walk of the prefix ledger, ${walked} messages that were seen before`,
        wanted: `≤ ${walkLimit * 1_000} µs`,
        got: time(ledger.measured[0]!.median),
        holds: ledger.measured[0]!.median <= walkLimit,
      },
      {
        what: `toModel with that walk, the same ${walked} messages, of which none has to change`,
        wanted: `≤ ${toModelLimit * 1_000} µs`,
        got: time(ledger.measured[2]!.median),
        holds: ledger.measured[2]!.median <= toModelLimit,
      },
    ],
    headlines: [
      {
        what: `validation, and repair, of ${longest.name} messages`,
        ours: longest.measured
          .slice(0, 2)
          .map(({ median }) => time(median))
          .join(", "),
        others: "–",
        difference: growth <= linear ? "linear" : `${digits(growth)} × the time a message takes at ${shorter.name}`,
      },
    ],
  };
}

const walked = 60;
/** Milliseconds. */
const walkLimit = 0.2;
/** Milliseconds. */
const toModelLimit = 1;

/** All that `toModel` reads of the model: the names of its class and of itself, and a method that its class has. */
class ChatAnthropic {
  readonly model = "claude-opus-5-5";
  readonly formatStructuredToolToAnthropic = true;

  _llmType(): string {
    return "anthropic";
  }
}

/** The walk, alone and in `toModel`, of a conversation whose every answer has a bound thought. */
async function ledgerCase(quick: boolean): Promise<Case> {
  const make = () => {
    const messages: BaseMessage[] = [];
    for (let turn = 0; turn < walked / 2; turn += 1) {
      messages.push(new HumanMessage(`Question ${turn}: ${"what is it ".repeat(20)}?`));
      const thinking = { type: "thinking", thinking: "Let me see. ".repeat(20), signature: `${turn}`.repeat(200) };
      const content = [thinking, { type: "text", text: "It is this. ".repeat(20) }];
      const answer = new AIMessage({ content, response_metadata: { model_provider: "anthropic" } });
      messages.push(stampAnswer(answer, walkLedger(messages).prefix));
    }
    return messages;
  };
  const known = make();
  const next = new HumanMessage("And now?");
  const [asked, model] = [[...known, next], new ChatAnthropic()];
  const { messages: sent } = await toModel(asked, { model });
  if (sent.some((message, index) => message !== asked[index])) {
    throw new Error("A message had to change.");
  }
  const fresh = () => known.map((message) => Object.assign(Object.create(Object.getPrototypeOf(message)), message));
  const computations = [
    { name: "seen before", run: () => walkLedger(known) },
    { name: "read from the store", run: () => walkLedger(fresh() as BaseMessage[]) },
    { name: "toModel, seen before", run: () => toModel(asked, { model }) },
    { name: "toModel, read from the store", run: () => toModel([...(fresh() as BaseMessage[]), next], { model }) },
  ];
  const measured = await compute(computations, { turns: quick ? 1 : 4, milliseconds: quick ? 5 : 150 });
  return { name: `${walked} messages`, measured };
}

function broken(length: number): BaseMessage[] {
  return conversation(length).flatMap((message, index) => {
    if (index % 200 === 2) {
      return [];
    }
    return index % 200 === 103
      ? [message, new ToolMessage({ id: `orphan-${index}`, tool_call_id: `nobody-${index}`, content: "lost" })]
      : [message];
  });
}
