import { ToolMessage } from "@langchain/core/messages";
import { z } from "zod";
import { anyText, lazy, nonEmptyText } from "../../options.js";
import { cutText } from "../window/cut-text.js";
import type { Chunk, SourceReference } from "../stored/reference-manager.js";

/**
 * What a tool gave back. A non-empty `errorMessage` says that it failed; else `content` is shown, else `chunks`, the
 * most relevant first.
 */
export interface ToolCallResponse {
  /** The id of the call that this answers. */
  readonly id: string;
  readonly name: string;
  readonly content?: string;
  readonly chunks?: readonly Chunk[];
  readonly errorMessage?: string;
  /** Shown after the result, behind a blank line; kept however small the result gets. */
  readonly systemReminder?: string;
  /** Images, as data URLs or links, shown beside the user's message as long as the turn lasts. They are not stored. */
  readonly imageDataUrls?: readonly string[];
}

/** A tool result of the current turn. It shows `sources` where it has some, else `text`. */
export interface ToolResult {
  readonly callId: string;
  readonly name: string;
  readonly failed: boolean;
  readonly text: string;
  readonly chunks: readonly Chunk[];
  readonly sources: readonly SourceReference[];
  readonly reminder: string | undefined;
  readonly images: readonly string[];
}

/** The form of a list of {@link ToolCallResponse}. */
export const toolCallResponsesSchema = lazy(() =>
  z.array(
    z.strictObject({
      id: nonEmptyText(),
      name: nonEmptyText(),
      content: anyText().optional(),
      chunks: z.array(z.strictObject({ id: anyText(), chunkId: anyText(), text: anyText() })).optional(),
      errorMessage: anyText().optional(),
      systemReminder: anyText().optional(),
      imageDataUrls: z.array(nonEmptyText()).optional(),
    }),
    "must be an array of tool call responses",
  ),
);

const noSources = "No relevant sources found.";

/**
 * Characters of one result that are stored; the model saw more in its turn, up to its window. Below a store's default
 * limit for a message.
 */
const storedCharacters = 200_000;

/** The response as a result whose chunks have no numbers yet. */
export function toToolResult(response: ToolCallResponse): ToolResult {
  const { id, name, content, chunks = [], errorMessage, systemReminder, imageDataUrls = [] } = response;
  const failed = errorMessage !== undefined && errorMessage !== "";
  const shown = failed ? `Tool call ${name} failed with error: ${errorMessage}` : content || noSources;
  return {
    callId: id,
    name,
    failed,
    text: shown,
    // Chunks that are not shown cannot be cited: they get no numbers.
    chunks: failed || content ? [] : chunks,
    sources: [],
    reminder: systemReminder || undefined,
    images: imageDataUrls,
  };
}

/** What the model reads of sources: a JSON array of `{ source_number, content_id, content }`. */
export function sourcesText(sources: readonly SourceReference[]): string {
  const items = sources.map(({ sourceNumber, chunk }) => ({
    source_number: sourceNumber,
    content_id: chunk.id,
    content: chunk.text,
  }));
  return JSON.stringify(items);
}

/** The whole result as the model reads it, without the reminder. */
export function fullBody({ sources, text: body }: ToolResult): string {
  return sources.length > 0 ? sourcesText(sources) : body;
}

/** The tool message of a result, whatever is left of its body. */
export function resultMessage({ callId, name, failed, reminder }: ToolResult, body: string): ToolMessage {
  const content = reminder === undefined ? body : `${body}\n\n${reminder}`;
  return new ToolMessage({ content, name, tool_call_id: callId, status: failed ? "error" : "success" });
}

/**
 * The body under which a result is stored: cited sources whole, a sentence where none of its sources is cited. `cited`
 * is undefined where the turn has no text that could cite: then all sources stay.
 */
export function storedBody(result: ToolResult, cited: ReadonlySet<number> | undefined): string {
  const { sources } = result;
  if (sources.length === 0) {
    return cutText(result.text, storedCharacters);
  }
  const kept = keptSources(result, cited);
  return kept.length > 0 ? sourcesText(kept) : `None of the ${sources.length} sources found here was cited.`;
}

/** The sources of a result that are stored with it. */
export function keptSources({ sources }: ToolResult, cited: ReadonlySet<number> | undefined): SourceReference[] {
  return sources.filter(({ sourceNumber }) => cited === undefined || cited.has(sourceNumber));
}
