import { changedChannels, summaryOf, type CheckpointSummary } from "./checkpoint-summary.js";
import { type CommandContext, exitCodes, type ExitCode, interrupted } from "./command.js";
import { DataError, noThread } from "./failure.js";
import { counted, minute, until } from "./figures.js";
import { printable } from "./printable.js";
import type { Screen } from "./screen.js";
import { openServer, type Server, type ServerOptions } from "./server.js";
import { checkpointsOf, placeName, problemOfCheckpoint, type UnreadableCheckpoint } from "./thread-checkpoints.js";
import { damageIn, describeThread, type FoundThread } from "./threads.js";

interface ShowThreadOptions extends ServerOptions {
  readonly thread: string;
  readonly content?: boolean;
  readonly last?: number;
}

/** `show --thread`: the checkpoints of a LangGraph thread, the newest first, and what changed. */
export async function showThread(
  { screen, env, signal }: CommandContext,
  options: ShowThreadOptions,
): Promise<ExitCode> {
  const { thread: threadId, content = false, last = Infinity } = options;
  const server = await openServer(options, env);
  try {
    const thread = await describeThread(server, threadId);
    if (thread === undefined) {
      throw noThread("show", threadId);
    }
    const read = await readThread(server, { threadId, last, signal });
    if (signal.aborted) {
      return interrupted(screen, "No checkpoint is shown.");
    }
    await printHeading(screen, thread);
    await printAll(screen, read, content);
    const damaged = read.shown.filter((checkpoint) => "error" in checkpoint);
    for (const checkpoint of damaged) {
      screen.note(printable(`Not shown: checkpoint ${checkpoint.id}: ${problemOfCheckpoint(checkpoint)}`));
    }
    return damaged.length > 0 ? exitCodes.findings : exitCodes.done;
  } finally {
    await server.close();
  }
}

type Shown = CheckpointSummary | UnreadableCheckpoint;

interface ReadThread {
  readonly shown: readonly Shown[];
  /** All checkpoints that were read, parents of those that are shown included. */
  readonly byPlace: ReadonlyMap<string, CheckpointSummary>;
}

/** Reads as many checkpoints as are shown, and on until their parents are known. */
async function readThread(
  server: Server,
  { threadId, last, signal }: { readonly threadId: string; readonly last: number; readonly signal: AbortSignal },
): Promise<ReadThread> {
  const shown: Shown[] = [];
  const byPlace = new Map<string, CheckpointSummary>();
  const awaited = new Set<string>();
  try {
    for await (const checkpoint of checkpointsOf(server, threadId)) {
      if (signal.aborted || (shown.length >= last && awaited.size === 0)) {
        break;
      }
      const summary = "error" in checkpoint ? checkpoint : summaryOf(checkpoint);
      awaited.delete(placeName(checkpoint));
      if (!("error" in summary)) {
        byPlace.set(placeName(summary), summary);
      }
      if (shown.length < last) {
        shown.push(summary);
        if (!("error" in summary) && summary.parent !== "") {
          awaited.add(placeName({ ns: summary.ns, id: summary.parent }));
        }
      }
    }
  } catch (error) {
    const damage = damageIn(error);
    throw damage === undefined
      ? error
      : new DataError(`show: the thread ${JSON.stringify(threadId)} cannot be read: ${damage}.`);
  }
  return { shown, byPlace };
}

async function printHeading(screen: Screen, { threadId, checkpoints, items, expiresAt }: FoundThread): Promise<void> {
  await screen.record({ threadId, checkpoints, items, ...(expiresAt !== undefined && { expiresAt }) });
  await screen.line(printable(threadId), { paint: screen.colours.bold });
  const expiry = expiresAt === undefined ? "" : `, expires in ${until(expiresAt, Date.now())}`;
  await screen.line(`  ${counted(checkpoints, "checkpoint")}, ${counted(items, "text")}${expiry}`);
}

async function printAll(screen: Screen, { shown, byPlace }: ReadThread, content: boolean): Promise<void> {
  let ns = "";
  for (const [index, checkpoint] of shown.entries()) {
    if (index === 0 || checkpoint.ns !== ns) {
      ns = checkpoint.ns;
      await screen.line(ns === "" ? "" : printable(`\nSubgraph ${ns}`, { lines: true }));
    }
    if ("error" in checkpoint) {
      const { id } = checkpoint;
      const detail = problemOfCheckpoint(checkpoint);
      await screen.record({ problem: "unreadable checkpoint", ...(ns !== "" && { ns }), id, detail });
      await screen.line(printable(`    ?  ${id}  cannot be read: ${detail}`), { indent: 7 });
      continue;
    }
    const parent = byPlace.get(placeName({ ns, id: checkpoint.parent }));
    await printCheckpoint(screen, checkpoint, { parent, content });
  }
}

async function printCheckpoint(
  screen: Screen,
  checkpoint: CheckpointSummary,
  { parent, content }: { readonly parent: CheckpointSummary | undefined; readonly content: boolean },
): Promise<void> {
  const { ns, id, step, source, at, next, interrupts } = checkpoint;
  const isKnown = parent !== undefined || checkpoint.parent === "";
  const changed = isKnown ? changedChannels(checkpoint, parent) : undefined;
  const asked = content ? interrupts : interrupts.length;
  const place = { ...(ns !== "" && { ns }), id, ...(checkpoint.parent !== "" && { parent: checkpoint.parent }) };
  await screen.record({ ...place, step, source, at, next, changed, interrupts: asked });
  const { dim, cyan, yellow } = screen.colours;
  const heading = [String(step ?? "").padStart(5), (source ?? "").padEnd(6), minute(at), id].filter(Boolean);
  await screen.line(printable(heading.join("  ")), { indent: 7 });
  const facts = [
    next.length > 0 && `next ${next.join(", ")}`,
    changed === undefined && "its parent cannot be read, or was dropped",
    changed !== undefined && changed.length > 0 && `changed ${changed.join(", ")}`,
  ].filter((fact) => fact !== false);
  if (facts.length > 0) {
    await screen.line(printable(`       ${facts.join(" · ")}`), { indent: 7, paint: dim });
  }
  if (interrupts.length > 0) {
    await screen.line(`       waits for ${counted(interrupts.length, "interrupt")}`, { indent: 7, paint: yellow });
  }
  for (const interrupt of content ? interrupts : []) {
    await screen.line(`       ${printable(JSON.stringify(interrupt))}`, { indent: 7, paint: cyan });
  }
}
