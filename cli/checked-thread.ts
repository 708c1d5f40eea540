import { EncryptionError } from "../src/base/errors.js";
import type { Finding, Look } from "./check-tally.js";
import { reasonOf } from "./failure.js";
import type { Server } from "./server.js";
import { checkpointsOf, problemOfCheckpoint, type UnreadableCheckpoint } from "./thread-checkpoints.js";
import { damageIn, describeThread } from "./threads.js";

/** Something wrong with a LangGraph thread. */
interface ThreadFinding extends Finding {
  readonly threadId: string;
  readonly problem: "missing" | "damaged" | "unreadable checkpoint" | "unreadable";
  readonly severity: "error";
  /** The namespace of a subgraph's checkpoint. */
  readonly ns?: string;
}

/** Reads a whole thread, and says what cannot be read. A thread that is not there is a finding where it was named. */
export async function checkThread(
  server: Server,
  threadId: string,
  { isNamed }: { readonly isNamed: boolean },
): Promise<Look> {
  const unopened = (problem: "missing" | "damaged", detail: string): Look => {
    const finding: ThreadFinding = { threadId, problem, severity: "error", detail };
    return { isOpened: false, all: [finding] };
  };
  if ((await describeThread(server, threadId)) === undefined) {
    return isNamed
      ? unopened("missing", "there is no thread of this id; check --prefix")
      : { isOpened: false, all: [] };
  }
  const all: ThreadFinding[] = [];
  try {
    for await (const checkpoint of checkpointsOf(server, threadId)) {
      if ("error" in checkpoint) {
        all.push(findingOf(threadId, checkpoint));
      }
    }
  } catch (error) {
    const damage = damageIn(error);
    if (damage === undefined) {
      throw error;
    }
    return unopened("damaged", damage);
  }
  const locked = all.find(({ keyId }) => keyId !== undefined);
  return locked === undefined ? { isOpened: true, all } : { isOpened: false, all: [locked] };
}

function findingOf(threadId: string, checkpoint: UnreadableCheckpoint): ThreadFinding {
  const { id, ns, error } = checkpoint;
  if (EncryptionError.isInstance(error) && error.code === "unknown_key") {
    const detail = reasonOf(error);
    return { threadId, problem: "unreadable", severity: "error", detail, keyId: error.keyId };
  }
  const detail = problemOfCheckpoint(checkpoint);
  const place = { id, ...(ns !== "" && { ns }) };
  return { threadId, problem: "unreadable checkpoint", severity: "error", detail, ...place };
}
