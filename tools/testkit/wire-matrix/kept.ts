import type { BaseMessage } from "@langchain/core/messages";
import { toModel } from "../../../src/entries/structure.js";
import { captureWire } from "../../../testing/wire/capture-wire.js";
import { listIn } from "../../../testing/wire/json.js";
import { type Source, sources, type Target, targets } from "./adapters.js";
import { makeConversation } from "./conversations.js";

/** How the parts of an answer look on any provider's wire. */
const signs: Readonly<Record<Source["made"][number], RegExp>> = {
  thinking: /"type":"(?:thinking|reasoning)"|"thought":true|"reasoningContent"/,
  search: /"type":"(?:server_tool_use|web_search_call)"|"executableCode"/,
  image: /"type":"image_generation_call"|"inlineData"/,
};

const words = { thinking: "thoughts", search: "steps of its own tools", image: "pictures" } as const;

/** Conversations a row, so that each part occurs. */
const conversations = 6;

/** A table of the parts of each source's answers, besides texts and calls, that `toModel` sends to each adapter. */
export async function keptTable(): Promise<string> {
  const all = targets();
  const lines = [
    `| answers of | ${all.map(({ name }) => name).join(" | ")} |`,
    `| --- |${" --- |".repeat(all.length)}`,
  ];
  for (const source of sources().filter(({ made }) => made.length > 0)) {
    const lists: BaseMessage[][] = [];
    for (let seed = 1; seed <= conversations; seed += 1) {
      lists.push(await makeConversation(source, { seed }));
    }
    const cells: string[] = [];
    for (const target of all) {
      cells.push(await cellOf(source, { target, lists }));
    }
    lines.push(`| ${source.name} | ${cells.join(" | ")} |`);
  }
  return `${lines.join("\n")}\n`;
}

async function cellOf(
  { made }: Source,
  { target, lists }: { readonly target: Target; readonly lists: readonly BaseMessage[][] },
): Promise<string> {
  const bodies: string[] = [];
  for (const list of lists) {
    const { messages } = await toModel(list, { model: target.model, tools: [{ name: "lookup" }] });
    const { body } = await captureWire(target.model, messages);
    const items = listIn(body["contents"] ?? body["messages"] ?? body["input"]);
    bodies.push(JSON.stringify(items.filter(({ role }) => role !== "user" && role !== "system")));
  }
  const kept = made.filter((part) => bodies.some((body) => signs[part].test(body)));
  return kept.length === 0 ? "–" : kept.map((part) => words[part]).join(", ");
}
