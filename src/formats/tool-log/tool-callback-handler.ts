import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { ToolMessage } from "@langchain/core/messages";
import type { Serialized } from "@langchain/core/load/serializable";
import { BoundedMap } from "../../base/bounds.js";
import { isPlainObject } from "../../base/json.js";
import type { NewToolInvocation } from "./tool-invocation.js";
import { valueIn } from "../../conversation/messages/message.js";

interface StartedRun {
  readonly name: string;
  readonly inputs: unknown;
  readonly toolCallId: string | undefined;
  readonly timestamp: string;
  readonly startedAt: number;
}

/**
 * How many started runs to remember; the oldest are forgotten first. LangChain does not report the end of a run whose
 * tool breaks its response format.
 */
const maxStartedRuns = 10_000;

/**
 * Records every tool run that LangChain reports.
 *
 * LangChain awaits this handler, so no record is lost if the process ends after the run. If writing the log fails,
 * LangChain prints a warning and the run continues. LangChain does not report runs that it refuses before the tool
 * starts (input that does not match the schema).
 */
export class ToolCallbackHandler extends BaseCallbackHandler {
  override name = "tool_invocation_history";
  readonly #started = new BoundedMap<string, StartedRun>(maxStartedRuns);
  readonly #add: (invocation: NewToolInvocation) => unknown;

  constructor(add: (invocation: NewToolInvocation) => unknown) {
    super({ _awaitHandler: true, ignoreLLM: true, ignoreChain: true, ignoreRetriever: true, ignoreCustomEvent: true });
    this.#add = add;
  }

  /** Returns this handler: a copy would not know the runs that have started. */
  override copy(): this {
    return this;
  }

  override handleToolStart(...[tool, input, runId, , , , runName, toolCallId]: ToolStartArguments): void {
    this.#started.set(runId, {
      name: runName ?? nameOf(tool),
      inputs: inputsOf(input),
      toolCallId,
      timestamp: new Date().toISOString(),
      startedAt: performance.now(),
    });
  }

  /**
   * Records a run that ended. A tool message with status `error` is an error that the tool handled itself.
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

  /** Records a run that threw: the error's message as `outputs`, its name as `meta.errorType`. */
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
    await this.#add({
      ...start,
      ...(toolCallId !== undefined && { toolCallId }),
      durationMs: Math.max(0, performance.now() - startedAt),
      ...end,
    });
  }
}

type ToolStartArguments = Parameters<NonNullable<BaseCallbackHandler["handleToolStart"]>>;

function isToolMessage(output: unknown): output is ToolMessage {
  const { getType } = (output ?? {}) as { getType?: unknown };
  return typeof getType === "function" && (output as { getType(): unknown }).getType() === "tool";
}

/** LangChain passes the arguments as text, even if they are an object. */
function inputsOf(input: unknown): unknown {
  if (typeof input !== "string" || !input.startsWith("{")) {
    return input;
  }
  const value = valueIn(input);
  return isPlainObject(value) ? value : input;
}

function nameOf(tool: Serialized | undefined): string {
  return (tool as { name?: string } | undefined)?.name ?? tool?.id?.at(-1) ?? "";
}
