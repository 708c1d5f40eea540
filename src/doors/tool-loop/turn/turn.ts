import * as z from "zod/mini";
import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { copyMessage } from "../../../store/codec/stored-record.js";
import { callsOf } from "../../../conversation/messages/content.js";
import { roleOf } from "../../../conversation/messages/message.js";
import { ConfigurationError } from "../../../base/errors.js";
import { lazy, nonEmptyText } from "../../../base/options.js";
import { toToolResult, type ToolCallResponse, type ToolResult } from "./tool-results.js";
import { checkUploadSizes, toUpload } from "../stored/references.js";
import type { Upload, UploadedContent, UploadLimits } from "../stored/references.js";

/**
 * A tool call of the model; `args` is an object.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { HistoryManager } from "langchain-redis-memory/tool-loop";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * const manager = new HistoryManager({ history, maxInputTokens: 8_000 });
 * manager.appendToolCalls([{ id: "c1", name: "search", args: { query: "travel rules" } }]);
 * await manager.addToolCallResults([{ id: "c1", name: "search", content: "By air after four hours." }]);
 */
export interface ToolCallRequest {
  /** The call's id, to which the result refers. */
  readonly id: string;
  /** The tool's name. */
  readonly name: string;
  /** The arguments as an object, not as JSON text. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** A message of the model, and the results of its calls in their order; undefined while a result is missing. */
export interface LoopStep {
  readonly message: BaseMessage;
  readonly results: (ToolResult | undefined)[];
}

/** Schema of a list of {@link ToolCallRequest}. Not strict, because LangChain adds fields to a call. */
export const toolCallRequestsSchema = lazy(() =>
  z
    .array(
      z.object({
        id: nonEmptyText(),
        name: nonEmptyText(),
        args: z.record(z.string(), z.unknown(), "must be an object"),
      }),
      "must be an array of tool calls",
    )
    .check(z.minLength(1, "must hold at least one call")),
);

/** Everything that one run has added so far. Nothing of it is stored before the commit. */
export class LoopTurn {
  /** Stays the same until the commit has succeeded, so that a repeated commit stores nothing twice. */
  readonly #ownName = randomUUID();
  #givenName: string | undefined;
  originalUserMessage: string | undefined;
  readonly steps: LoopStep[] = [];
  readonly uploads = new Map<string, Upload>();
  readonly removedUploads = new Set<string>();
  readonly #openCalls = new Map<string, { readonly step: LoopStep; readonly place: number }>();

  get isEmpty(): boolean {
    const changes = this.steps.length + this.uploads.size + this.removedUploads.size;
    return changes === 0 && this.originalUserMessage === undefined;
  }

  /** The name under which it is stored: the application's, else one of its own. */
  get name(): string {
    return this.#givenName ?? this.#ownName;
  }

  /** Gives the turn a name; undefined leaves the one that it has. */
  nameAs(method: string, name: string | undefined): void {
    if (name !== undefined && this.#givenName !== undefined && this.#givenName !== name) {
      throw new ConfigurationError(
        "turnId",
        `${method}: "turnId" is not the one that this turn was begun with; commit() or discardTurn() ends a turn.`,
      );
    }
    this.#givenName ??= name;
  }

  addCalls(toolCalls: readonly ToolCallRequest[]): void {
    const tool_calls = toolCalls.map(({ id, name, args }) => ({
      type: "tool_call" as const,
      id,
      name,
      args: { ...args },
    }));
    this.addMessage(new AIMessage({ content: "", tool_calls }));
  }

  /**
   * Adds a message from the model, including its calls, as `answered` makes it of a copy: the application may change
   * its own object.
   */
  addMessage(message: BaseMessage, answered: (copy: BaseMessage) => BaseMessage = (copy) => copy): void {
    if (typeof (message as BaseMessage | undefined)?.getType !== "function" || roleOf(message) !== "ai") {
      throw new ConfigurationError("message", "addAssistantMessage: the message must be an AIMessage.");
    }
    const ids = requiredCallIds(message);
    if (new Set(ids).size < ids.length || ids.some((id) => this.#openCalls.has(id))) {
      throw new ConfigurationError(
        "id",
        "HistoryManager: two tool calls that wait for results have the same id; give each call its own id.",
      );
    }
    const step = { message: answered(copyMessage(message)), results: ids.map(() => undefined) };
    this.steps.push(step);
    ids.forEach((id, place) => this.#openCalls.set(id, { step, place }));
  }

  /** Adds each result to its call: all of them, or none if one does not fit. */
  addResults(responses: readonly ToolCallResponse[]): void {
    const ids = new Set(responses.map(({ id }) => id));
    if (ids.size < responses.length || [...ids].some((id) => !this.#openCalls.has(id))) {
      throw new ConfigurationError(
        "id",
        "addToolCallResults: no tool call of this turn is waiting for a result with this id; add the calls first.",
      );
    }
    for (const response of responses) {
      const { step, place } = this.#openCalls.get(response.id)!;
      step.results[place] = toToolResult(response);
      this.#openCalls.delete(response.id);
    }
  }

  /** Adds uploads: all of them, or none if one is refused. */
  addUploads(
    contents: readonly UploadedContent[],
    { stored, limits }: { readonly stored: readonly Upload[]; readonly limits: UploadLimits },
  ): void {
    const uploads = this.uploadsWith(stored);
    const first = uploads.reduce((next, { sequence }) => Math.max(next, sequence + 1), 0);
    const added = contents.map((content, index) => toUpload(content, first + index));
    const ids = new Set(added.map(({ id }) => id));
    checkUploadSizes([...uploads.filter(({ id }) => !ids.has(id)), ...added], limits);
    for (const upload of added) {
      this.uploads.set(upload.id, upload);
      this.removedUploads.delete(upload.id);
    }
  }

  /** Removes uploads by id. */
  removeUploads(ids: readonly string[]): void {
    for (const id of ids) {
      this.uploads.delete(id);
      this.removedUploads.add(id);
    }
  }

  /** Returns the session's uploads as they will be after the turn, in the order in which they were added. */
  uploadsWith(stored: readonly Upload[]): Upload[] {
    const rest = stored.filter(({ id }) => !this.uploads.has(id) && !this.removedUploads.has(id));
    return [...rest, ...this.uploads.values()];
  }

  /** Returns the results so far, in the order of the calls. */
  results(): ToolResult[] {
    return this.steps.flatMap(({ results }) => results.filter((result) => result !== undefined));
  }
}

function requiredCallIds(message: BaseMessage): string[] {
  return callsOf(message).map(({ id }) => {
    if (id === undefined || id === "") {
      throw new ConfigurationError("id", "addAssistantMessage: a tool call has no id; give each call its own id.");
    }
    return id;
  });
}
