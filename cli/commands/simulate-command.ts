import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod/mini";
import { Command, InvalidArgumentError } from "commander";
import type { BaseMessage } from "@langchain/core/messages";
import { fileURLToPath } from "node:url";
import { simulateReducers, type PromptPrices, type ReducerSimulation } from "../simulation/simulate-reducers.js";
import type { ToolDefinitionLike } from "../../src/conversation/tokens/formulas/tools-cost.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { DataError, UsageError } from "../failure.js";
import { counted, whole } from "../figures.js";
import { collected, positiveOperand } from "../operands.js";
import { valueIn, exactValueIn, isRecord } from "../../src/conversation/messages/message.js";
import { policiesFor, reducerOf, reducerSpecHelp, type SummarySetting } from "../reducer-spec.js";
import type { Column } from "../fitting-columns.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";
import { MemoryError } from "../../src/base/errors.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import type { OpenAIMessage } from "../../src/formats/openai/message.js";
import { linesOfFile } from "../lines-of-file.js";

interface SimulateOptions extends ServerOptions {
  readonly file?: string;
  readonly reducer?: readonly string[];
  readonly price?: PromptPrices;
  readonly summaryTokens: number;
  readonly svg?: string;
  readonly system?: string;
  readonly tools?: string;
  readonly room?: number;
}

const defaultRoom = 8_000;

/** A column, and what stands in it. */
interface Figure extends Column {
  readonly show: (result: ReducerSimulation) => string;
}

const figure = (title: string, show: Figure["show"]): Figure => ({ title, show, align: "right" });
const spare = (title: string, show: Figure["show"]): Figure => ({ ...figure(title, show), isSpare: true });

const uncached = spare("uncached", ({ billedUncached }) => price(billedUncached));
const columns: readonly Figure[] = [
  { title: "reducer", cut: { order: 1, least: 8 }, show: ({ reducer }) => reducer },
  figure("sent", ({ sent }) => whole(sent)),
  spare("cached", ({ cached }) => whole(cached)),
  figure("billed", ({ billed }) => price(billed)),
  uncached,
  spare("cuts", ({ reductions }) => whole(reductions)),
  spare("breaks", ({ prefixBreaks }) => whole(prefixBreaks)),
  figure("questions", ({ questionsSeen }) => percent(questionsSeen)),
  figure("results", ({ toolResultsSeen }) => percent(toolResultsSeen)),
];

/** `simulate`: what reducers would do to conversations, without a model and without writing. */
export function simulateCommand(): CommandDefinition {
  const command = withServerOptions(
    new Command().argument(
      "[sessions...]",
      "sessions in Redis; without them and --file, the conversations of the package",
    ),
  )
    .option("--file <path>", "conversations in OpenAI's chat format, one JSON object { messages } a line")
    .option("--reducer <spec>", "a reducer, see below; may be given several times", collected)
    .option(
      "--price <input,cached>",
      "price of a prompt token, and of one in the prompt cache (default: 1,0.1)",
      prices,
    )
    .option("--system <path>", "a text file: the system prompt of each request")
    .option("--tools <path>", "a JSON file: the list of the tools of each request")
    .option(
      "--room <tokens>",
      "all ways to keep a request within so many tokens (with --system or --tools: 8000)",
      positiveOperand,
    )
    .option("--summary-tokens <number>", "length of a summary; no model is called", positiveOperand, 300)
    .option("--svg <path>", "write a picture of the results")
    .addHelpText("after", reducerSpecHelp);
  return {
    command,
    run: (context, options, [sessions]) => simulate(context, options as SimulateOptions, sessions as string[]),
  };
}

async function simulate(context: CommandContext, options: SimulateOptions, sessions: string[]): Promise<ExitCode> {
  const { screen } = context;
  const request = await requestOf(options);
  const specs = specsOf(options, Object.keys(request).length > 0);
  const reducers = specs.map((spec) => reducerOf(spec, { ...options, request }));
  const how = { ...request, prices: options.price ?? { input: 1, cached: 0.1 } };
  const { conversations, source } = await conversationsOf(context, options, sessions);
  const results: ReducerSimulation[] = [];
  for (const reducer of reducers) {
    if (context.signal.aborted) {
      return interrupted(screen, "Not all reducers were tried.");
    }
    const [result] = await simulateReducers(conversations, [reducer], how);
    results.push(result!);
  }
  const comparesRooms = options.room !== undefined || Object.keys(request).length > 0;
  await print(screen, results, { conversations: conversations.length, source, comparesRooms });
  if (options.svg !== undefined) {
    const { simulationPicture } = await import("../simulation-picture.js");
    await writeFile(options.svg, await simulationPicture(results)).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`--svg: the file cannot be written (${error.code}).`);
    });
  }
  return exitCodes.done;
}

function specsOf({ reducer, room }: SimulateOptions, hasParts: boolean): readonly string[] {
  if (room !== undefined || (hasParts && reducer === undefined)) {
    return [...policiesFor(room ?? defaultRoom), ...(reducer ?? [])];
  }
  return reducer ?? ["none", "truncate:20+10", "token:8000/6400"];
}

/** The parts that each request has besides its messages. */
async function requestOf({ system, tools }: SimulateOptions): Promise<NonNullable<SummarySetting["request"]>> {
  const text = async (option: string, path: string) =>
    readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`${option}: the file cannot be read (${error.code}).`);
    });
  const list = tools === undefined ? undefined : toolsIn(await text("--tools", tools));
  return {
    ...(system !== undefined && { systemPrompt: await text("--system", system) }),
    ...(list !== undefined && { tools: list }),
  };
}

function toolsIn(text: string): readonly ToolDefinitionLike[] {
  const { data, success } = z.array(z.record(z.string(), z.unknown())).safeParse(valueIn(text));
  if (!success) {
    throw new UsageError("--tools: the file must hold a JSON list of tools, as OpenAI's API takes them.");
  }
  return data as unknown as readonly ToolDefinitionLike[];
}

async function conversationsOf(
  { env }: CommandContext,
  options: SimulateOptions,
  sessions: readonly string[],
): Promise<{ readonly conversations: BaseMessage[][]; readonly source: string }> {
  if (options.file !== undefined && sessions.length > 0) {
    throw new UsageError("simulate: give either sessions or --file.");
  }
  if (sessions.length === 0) {
    const path = options.file ?? shippedConversations();
    const conversations = await readConversationFile(path);
    return { conversations, source: options.file === undefined ? "the package" : "the file" };
  }
  const server = await openServer(options, env);
  try {
    const conversations: BaseMessage[][] = [];
    for (const session of sessions) {
      const messages = await server.memory.history(session).getTranscript();
      if (messages.length === 0) {
        throw new DataError(`simulate: the session ${JSON.stringify(session)} holds no messages.`);
      }
      conversations.push(messages);
    }
    return { conversations, source: `Redis at ${server.address}` };
  } finally {
    await server.close();
  }
}

async function print(
  screen: Screen,
  results: readonly ReducerSimulation[],
  {
    conversations,
    source,
    comparesRooms,
  }: { readonly conversations: number; readonly source: string; readonly comparesRooms: boolean },
): Promise<void> {
  for (const result of results) {
    await screen.record(result);
  }
  const requests = results[0]?.requests ?? 0;
  const read = `${counted(conversations, "conversation")} from ${source}`;
  await screen.line(`${read}, ${counted(requests, "request")} to the model. Sizes are prompt tokens.\n`);
  const shown = comparesRooms ? columns : columns.filter((column) => column !== uncached);
  await screen.table(
    shown,
    results.map((result) => shown.map(({ show }) => show(result))),
  );
  await screen.line(
    `\nbilled: at the prices given${comparesRooms ? "; uncached: without a prompt cache" : ""}. ` +
      "breaks: requests that do not begin with all of the one before.\n" +
      "questions, results: the share of user messages and whole tool results that the model still saw.",
  );
}

/** A sum of prices may be far below 1. */
function price(value: number): string {
  return value >= 100 || Number.isInteger(value) ? whole(value) : value.toPrecision(3);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share === 1 ? 0 : 1)} %`;
}

function prices(value: string): PromptPrices {
  const [, input, cached] = /^(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)$/.exec(value) ?? [];
  if (input === undefined || cached === undefined) {
    throw new InvalidArgumentError('It must be two numbers of 0 or more, such as "2.5,0.25".');
  }
  return { input: Number(input), cached: Number(cached) };
}

/** Recorded conversations that come with the package, beside the built command. */
function shippedConversations(): string {
  return fileURLToPath(new URL("./data/recorded-conversations.jsonl", import.meta.url));
}

/**
 * Reads conversations in OpenAI's chat format, one JSON object with `messages` a line. Empty lines are skipped.
 *
 * @throws UsageError for a file that cannot be read; DataError with the line for what is no conversation, or has no
 *   messages.
 */
async function readConversationFile(path: string): Promise<BaseMessage[][]> {
  const conversations: BaseMessage[][] = [];
  for await (const { number, text } of linesOfFile(path)) {
    conversations.push(conversationIn(text, `${path}:${number}`));
  }
  if (conversations.length === 0) {
    throw new DataError(`${path}: the file holds no conversation.`);
  }
  return conversations;
}

function conversationIn(line: string, place: string): BaseMessage[] {
  const messages = messagesIn(line, place);
  if (messages.length === 0) {
    throw new DataError(`${place}: the conversation holds no messages.`);
  }
  try {
    return new MessageHistory(messages).toMessages();
  } catch (error) {
    throw MemoryError.isInstance(error) ? new DataError(`${place}: ${error.message}`) : error;
  }
}

function messagesIn(line: string, place: string): OpenAIMessage[] {
  const value = exactValueIn(line);
  if (value === undefined) {
    throw new DataError(`${place}: the line is no JSON.`);
  }
  const messages = Array.isArray(value) ? value : isRecord(value) ? value["messages"] : undefined;
  if (!Array.isArray(messages)) {
    throw new DataError(`${place}: the line must be an object with "messages", in OpenAI's chat format.`);
  }
  return messages as OpenAIMessage[];
}
