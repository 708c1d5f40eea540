import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { anyFunction, lazy } from "../../base/options.js";

/** Schema fields of the options that say which messages always stay. */
export const sectionFields = lazy(() => ({
  systemMessages: z._default(z.enum(["all", "first", "latest"], 'must be "all", "first" or "latest"'), "all"),
  pin: z.optional(anyFunction<(message: BaseMessage) => boolean>()),
  cutAt: z.optional(z.enum(["turn", "step"], 'must be "turn" or "step"')),
}));
