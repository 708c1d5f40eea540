import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Serialized } from "@langchain/core/load/serializable";
import { BoundedMap } from "../../bounded-map.js";
import { isPlainObject } from "../json-value.js";
import type { Clock } from "../timestamp.js";
import type { NewToolInvocation } from "./tool-invocation.js";

/** What a callback handler needs of the log that it writes to. */
export interface ToolCallbackOptions {
  readonly record: (invocation: NewToolInvocation) => unknown;
  readonly clock: Clock;
}

interface StartedRun {
  readonly name: string;
  readonly inputs: unknown;
  readonly toolCallId: string | undefined;
  readonly timestamp: string;
  readonly startedAt: number;
}

/**
 * Runs whose end LangChain never told (it tells none where a tool breaks its response format) are forgotten beyond this
 * number, oldest first.
 */
const maxStartedRuns = 10_000;

/**
 * Records every tool run that it is told of.
 *
 * LangChain waits for it, so no record is lost when the process ends after the run. Where the log cannot be written,
 * LangChain warns on the console and the run goes on. What LangChain refuses before a tool starts (input that does not
 * fit the schema) is not told to handlers.
 */
export class ToolCallbackHandler extends BaseCallbackHandler {
  override name = "tool_invocation_history";
  readonly #started = new BoundedMap<string, StartedRun>(maxStartedRuns);
  readonly #options: ToolCallbackOptions;

  constructor(options: ToolCallbackOptions) {
    super({ _awaitHandler: true, ignoreLLM: true, ignoreChain: true, ignoreRetriever: true, ignoreCustomEvent: true });
    this.#options = options;
  }

  /** The same handler: a copy would not know the runs that have started. */
  override copy(): this {
    return this;
  }

  /** Notes the start of a run. */
  override handleToolStart(...[tool, input, runId, , , , runName, toolCallId]: ToolStartArguments): void {
    this.#started.set(runId, {
      name: runName ?? nameOf(tool),
      inputs: inputsOf(input),
      toolCallId,
      timestamp: this.#options.clock().toISOString(),
      startedAt: performance.now(),
    });
  }

  /**
   * Records a run that came to an end. A tool message with status `error` is an error that the tool dealt with itself.
   */
  override async handleToolEnd(output: unknown, runId: string): Promise<void> {
    const message = isToolMessage(output) ? output : undefined;
    await this.#record(runId, {
      outputs: message === undefined ? output : message.content,
      status: message?.status === "error" ? "error" : "success",
      ...(message?.name !== undefined && { name: message.name }),
      ...(message?.tool_call_id && { toolCallId: message.tool_call_id }),
    });
  }

  /** Records a run that threw: the error's message as outputs, its name in `meta.errorType`. */
  override async handleToolError(error: unknown, runId: string): Promise<void> {
    const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
    await this.#record(runId, {
      outputs: typeof message === "string" ? message : String(error),
      status: "error",
      meta: { errorType: typeof name === "string" ? name : typeof error },
    });
  }

  async #record(runId: string, end: Omit<NewToolInvocation, "inputs">): Promise<void> {
    const started = this.#started.get(runId);
    if (started === undefined) {
      return;
    }
    this.#started.delete(runId);
    const { startedAt, toolCallId, ...start } = started;
    await this.#options.record({
      ...start,
      ...(toolCallId !== undefined && { toolCallId }),
      durationMs: Math.max(0, performance.now() - startedAt),
      ...end,
    });
  }
}

type ToolStartArguments = [
  tool: Serialized,
  input: string,
  runId: string,
  parentRunId?: string,
  tags?: string[],
  metadata?: Record<string, unknown>,
  runName?: string,
  toolCallId?: string,
];

interface ToolMessageLike {
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly status?: string;
}

function isToolMessage(output: unknown): output is ToolMessageLike {
  const { getType } = (output ?? {}) as { getType?: unknown };
  return typeof getType === "function" && (output as { getType(): unknown }).getType() === "tool";
}

/** LangChain tells the arguments as text, also where they are an object. */
function inputsOf(input: unknown): unknown {
  if (typeof input !== "string" || !input.startsWith("{")) {
    return input;
  }
  try {
    const value: unknown = JSON.parse(input);
    return isPlainObject(value) ? value : input;
  } catch {
    return input;
  }
}

function nameOf(tool: Serialized | undefined): string {
  return (tool as { name?: string } | undefined)?.name ?? tool?.id?.at(-1) ?? "";
}
