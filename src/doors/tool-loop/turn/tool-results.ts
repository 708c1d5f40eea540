import { ToolMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { anyText, lazy, nonEmptyText } from "../../../base/options.js";
import { textOf } from "../../../conversation/messages/content.js";
import type { StoredForms } from "../../../memory/session/stored-forms.js";
import { cutSources, cutText, sourcesText } from "../token-window/cut-text.js";
import type { Chunk, SourceReference, Upload } from "../stored/references.js";

/**
 * The result of a tool call. A non-empty `errorMessage` marks a failure; otherwise the model sees `content`, or
 * `chunks` if there is no content.
 */
export interface ToolCallResponse {
  /** The id of the call that this responds to. */
  readonly id: string;
  /** The tool's name. */
  readonly name: string;
  /** The result as text. With a text, the model does not see `chunks`. */
  readonly content?: string;
  /** The sources that the tool found, the most relevant first. */
  readonly chunks?: readonly Chunk[];
  /** Why the tool failed. The model reads it in the place of a result. */
  readonly errorMessage?: string;
  /** False marks a failure too, with `content` as its message. @default true without an `errorMessage` */
  readonly successful?: boolean;
  /** Follows the result after a blank line, and stays however much the result is shortened. */
  readonly systemReminder?: string;
  /** Images as data URLs or links, shown with the user's message in this turn. They are not stored. */
  readonly imageDataUrls?: readonly string[];
}

/** A tool result of the current turn. The model sees `sources` if there are any, otherwise `text`. */
export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly failed: boolean;
  readonly text: string;
  readonly chunks: readonly Chunk[];
  /** The chunks with their numbers; empty until they are numbered. */
  sources: readonly SourceReference[];
  readonly reminder: string | undefined;
  readonly images: readonly Upload[];
}

/** Schema of a list of {@link ToolCallResponse}. */
export const toolCallResponsesSchema = lazy(() =>
  z.array(
    z.strictObject({
      id: nonEmptyText(),
      name: nonEmptyText(),
      content: z.optional(anyText()),
      chunks: z.optional(z.array(z.strictObject({ id: anyText(), chunkId: anyText(), text: anyText() }))),
      errorMessage: z.optional(anyText()),
      successful: z.optional(z.boolean()),
      systemReminder: z.optional(anyText()),
      imageDataUrls: z.optional(z.array(nonEmptyText())),
    }),
    "must be an array of tool call responses",
  ),
);

const noSources = "No relevant sources found.";

/** How many characters of a result are stored; small enough for a store's default limit on the size of a message. */
const storedCharacters = 200_000;

/** Converts a response to a result whose chunks have no numbers yet. */
export function toToolResult(response: ToolCallResponse): ToolResult {
  const { id, name, content, chunks = [], errorMessage, successful, systemReminder, imageDataUrls = [] } = response;
  const failed = Boolean(errorMessage) || successful === false;
  const error = errorMessage || content || "no message";
  const shown = failed ? `Tool call ${name} failed with error: ${error}` : content || noSources;
  return {
    callId: id,
    name,
    failed,
    text: shown,
    // Chunks that the model does not see cannot be cited, so they get no numbers.
    chunks: failed || content ? [] : chunks,
    sources: [],
    reminder: systemReminder || undefined,
    images: imageDataUrls.map((url, index) => toolImage({ id, name }, url, index)),
  };
}

/** An image of a tool, as it is shown with the turn's question. */
function toolImage({ id, name }: Pick<ToolCallResponse, "id" | "name">, url: string, index: number): Upload {
  const mimeType = /^data:(image\/[^;,]+)/.exec(url)?.[1] ?? "image/*";
  const label = `Image from tool call ${id} (${name})`;
  return { id: `tool-image:${id}:${index}`, name: label, sequence: 0, mimeType, url, isOfTool: true };
}

/** Returns the whole result as the model reads it, without the reminder. */
export function fullBody({ sources, text: body }: ToolResult): string {
  return sources.length > 0 ? sourcesText(sources) : body;
}

/** Creates the tool message of a result from its whole or shortened body. */
export function resultMessage({ callId, name, failed, reminder }: ToolResult, body: string): ToolMessage {
  const content = reminder === undefined ? body : `${body}\n\n${reminder}`;
  return new ToolMessage({ content, name, tool_call_id: callId, status: failed ? "error" : "success" });
}

/**
 * Returns the stored body of a result: its text, or all its sources. One that is too large for any store is cut, its
 * `cited` sources last.
 */
export function storedBody(result: ToolResult, cited: ReadonlySet<number>): string {
  const body = fullBody(result);
  return cutSources(body, { characters: storedCharacters, cited }) ?? cutText(body, storedCharacters);
}

/**
 * The sources of a result as `beforeStore` lets them be stored: it is given the text of each as that of the result.
 *
 * @throws RecordError `refused` if it throws.
 */
export async function storedSources(
  result: ToolResult,
  forms: StoredForms | undefined,
): Promise<readonly SourceReference[]> {
  const { sources } = result;
  if (forms === undefined) {
    return sources;
  }
  const bare = { ...result, reminder: undefined };
  const stored = await forms.of(sources.map(({ chunk }) => resultMessage(bare, chunk.text)));
  return sources.map((source, index) => ({ ...source, chunk: { ...source.chunk, text: textOf(stored[index]!) } }));
}
