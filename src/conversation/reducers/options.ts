import * as z from "zod/mini";
import { lazy } from "../../base/options.js";

/** Schema fields of the options that say which messages always stay. */
export const sectionFields = lazy(() => ({
  systemMessages: z._default(z.enum(["all", "first", "latest"], 'must be "all", "first" or "latest"'), "all"),
}));
