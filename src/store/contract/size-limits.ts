import * as z from "zod/mini";
import { lazy, objectOf, positiveInteger } from "../../base/options.js";
import { defaultLimits } from "./request-checks.js";

/** The limits as the field `limits` of a schema. */
export const sizeLimits = lazy(() =>
  z.prefault(
    objectOf(
      {
        maxMessageBytes: z._default(positiveInteger(), defaultLimits.maxMessageBytes),
        maxAppendBytes: z._default(positiveInteger(), defaultLimits.maxAppendBytes),
      },
      "an object with maxMessageBytes and maxAppendBytes",
    ),
    {},
  ),
);
