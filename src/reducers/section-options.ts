import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { anyFunction, lazy } from "../options.js";

/** Schema fields of the options that say which messages stay whatever the target. */
export const sectionFields = lazy(() => ({
  systemMessages: z.enum(["all", "first", "latest"], 'must be "all", "first" or "latest"').default("all"),
  pin: anyFunction<(message: BaseMessage) => boolean>().optional(),
}));
