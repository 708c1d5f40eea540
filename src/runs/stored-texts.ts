import * as z from "zod/mini";
import { RecordError } from "../base/errors.js";
import { valueIn } from "../conversation/messages/values.js";
import { lazy } from "../base/options.js";
import { sessionLabel } from "../store/contract/refusals.js";
import type { Notice } from "./mailbox.js";
import type { RunEnd } from "./run-log.js";
import type { RunMeta } from "./run-store.js";

const metaSchema = lazy(() =>
  z.object({
    ...{ turnId: z.string(), instance: z.string(), call: z.string() },
    ...{ owner: z.optional(z.string()), key: z.optional(z.string()) },
  }),
);
const endSchema = lazy(() =>
  z.object({
    state: z.enum(["waiting", "done", "stopped", "failed", "lost"]),
    error: z.optional(z.string()),
  }),
);
const letterSchema = lazy(() =>
  z.object({
    kind: z.enum(["follow", "leave", "stop", "news", "over"]),
    ...{ at: z.string(), sessionId: z.string(), from: z.string() },
  }),
);

/** The facts of a run, from their text. @throws RecordError `corrupt` */
export function runMetaIn(text: unknown, sessionId: string): RunMeta {
  return metaSchema().safeParse(jsonIn(text)).data ?? unreadable(sessionId);
}

/** The end of a run, from its text. @throws RecordError `corrupt` */
export function runEndIn(text: unknown, sessionId: string): RunEnd {
  return endSchema().safeParse(jsonIn(text)).data ?? unreadable(sessionId);
}

/** The notices in a text of the mail. Notices are hints, so those that cannot be read are left out. */
export function noticesIn(text: unknown): Notice[] {
  const notices = jsonIn(text);
  return (Array.isArray(notices) ? notices : []).flatMap((notice) => letterSchema().safeParse(notice).data ?? []);
}

function jsonIn(text: unknown): unknown {
  return typeof text === "string" ? valueIn(text) : undefined;
}

function unreadable(sessionId: string): never {
  throw new RecordError(
    `The run of ${sessionLabel(sessionId)} in Redis cannot be read. It expires by itself within a day.`,
    { code: "corrupt" },
  );
}
