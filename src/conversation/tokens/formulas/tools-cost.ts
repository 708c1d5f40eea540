import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import * as z from "zod/mini";
import { lazy } from "../../../base/options.js";
import { CostSum, type Cost } from "./message-cost.js";
import { fieldsOf, type Fields } from "../../messages/message.js";

/** A tool as `bindTools` takes it: a LangChain tool, or a definition in OpenAI's form. */
export type ToolDefinitionLike = Parameters<typeof convertToOpenAITool>[0];

/** A list of tools in options; none by default. */
export const toolListSchema = lazy(() =>
  z._default(
    z.array(
      z.custom<ToolDefinitionLike>((tool) => typeof tool === "object" && tool !== null, "must be a tool"),
      "must be an array of tools",
    ),
    [],
  ),
);

/**
 * Tool definitions' cost in a request, by OpenAI's formula ("How to count tokens with tiktoken", OpenAI Cookbook):
 * per function `perFunction` (7 for models on o200k_base, 10 on cl100k_base), the tokens of `name:description`, and 12;
 * 3 for having parameters; per parameter 3 and the tokens of `name:type:description`; per list of choices −3, and 3 and
 * the tokens of each choice. A final full stop of a description is not counted.
 *
 * The formula is published for flat parameters; nested ones count by the same rule. A tool that is not a function
 * counts as its JSON.
 */
export function toolsCost(tools: readonly ToolDefinitionLike[], perFunction: number): Cost {
  const sum = new CostSum();
  for (const tool of tools) {
    const { function: definition } = convertToOpenAITool(tool) as unknown as { function?: Fields };
    if (definition === undefined) {
      sum.addValue(tool);
      continue;
    }
    sum.tokens += perFunction + 12;
    sum.addText(`${String(definition["name"])}:${described(definition)}`);
    addProperties(sum, fieldsOf(definition["parameters"]));
  }
  return sum;
}

function addProperties(sum: CostSum, schema: Fields): void {
  const properties = Object.entries(fieldsOf(schema["properties"]));
  sum.tokens += properties.length > 0 ? 3 : 0;
  for (const [name, value] of properties) {
    const property = fieldsOf(value);
    sum.tokens += 3;
    addChoices(sum, property["enum"]);
    sum.addText(`${name}:${typeName(property["type"])}:${described(property)}`);
    addProperties(sum, property);
    addProperties(sum, fieldsOf(property["items"]));
  }
}

function addChoices(sum: CostSum, choices: unknown): void {
  if (Array.isArray(choices)) {
    sum.tokens += 3 * choices.length - 3;
    choices.forEach((choice) => sum.addValue(choice));
  }
}

function described({ description }: Fields): string {
  return typeof description === "string" ? description.replace(/\.$/, "") : "";
}

function typeName(type: unknown): string {
  return Array.isArray(type) ? type.join("|") : typeof type === "string" ? type : "";
}
