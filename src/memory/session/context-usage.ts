import * as z from "zod/mini";
import { lazy, parseOptions } from "../../base/options.js";
import type { ReducerRequest } from "../../conversation/reducers/chat-history-reducer.js";
import { usageOf, type ContextUsage } from "../../conversation/reducers/window/context-window.js";
import { defaultWindow } from "../../conversation/reducers/window/default-window.js";
import type { ConversationSession } from "./conversation-session.js";

// Apart from the other reads: what measures a request is loaded with the first one.

const schema = lazy(() =>
  z.strictObject({
    model: z.optional(z.unknown()),
    system: z.optional(z.custom<ReducerRequest["system"]>(isPrompt, "must be a text or a message")),
    tools: z.optional(z.array(z.unknown(), "must be an array of tools")),
    config: z.optional(z.custom<object>((value) => typeof value === "object", "must be an object")),
  }),
);

function isPrompt(value: unknown): boolean {
  return typeof value === "string" || typeof (value as { getType?: unknown } | null)?.getType === "function";
}

/** The size of a session's next request, whatever reduces its view; undefined where the window is not known. */
export async function readContextUsage(
  session: ConversationSession,
  request: Pick<ReducerRequest, "model" | "system" | "tools" | "config">,
): Promise<ContextUsage | undefined> {
  const checked = parseOptions("contextUsage", schema(), request);
  const window = await (session.context.window?.load() ?? defaultWindow());
  const measured = await window.measure(await session.readView(), { ...checked, isNext: true });
  return measured && usageOf(measured);
}
