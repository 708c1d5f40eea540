import { Command } from "commander";
import { describeSession } from "../all-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import { damageOf, lengthBefore, remainsOf, type Remains } from "../damage.js";
import { DataError, noSession, UsageError } from "../failure.js";
import { counted, whole } from "../figures.js";
import { findLostMessages, type PositionRange } from "../lost-messages.js";
import { printable } from "../printable.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

interface RebuildOptions extends ServerOptions {
  readonly yes?: boolean;
  readonly owner?: string;
  readonly dryRun?: boolean;
}

/** `rebuild`: repairs a session of which Redis lost a part. */
export function rebuildCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("<session>", "the session's id"))
    .option("--owner <name>", "whose the session is, where nothing that is left says so")
    .option("--yes", "also where no message is left; without it nothing is done then")
    .option("--dry-run", "say what would be done, and change nothing")
    .addHelpText(
      "after",
      "\nWhat is gone cannot be brought back: the session can be written again, with the\n" +
        "messages that are left. A record that cannot be read stays, and is named.",
    );
  return {
    command,
    run: (context, options, [session]) => rebuild(context, options as RebuildOptions, session as string),
  };
}

/** The outcome of a rebuild. */
interface Rebuilt {
  readonly sessionId: string;
  /** Messages that are left, and how many there were; undefined where not known. */
  readonly messages: number;
  readonly before: number | undefined;
  /** Positions of messages that are gone, before the rebuild; undefined where not known. */
  readonly gone: readonly PositionRange[] | undefined;
  /** Positions of records that cannot be read. */
  readonly unreadable: readonly number[];
  /** Positions of records that their key does not open. */
  readonly changed: readonly number[];
  /** True where nothing was left but the index of its messages, which a rebuild removes. */
  readonly removed: boolean;
  /** Facts that only the state held. */
  readonly lost: readonly ("owner" | "title")[];
}

async function rebuild({ screen, env }: CommandContext, options: RebuildOptions, sessionId: string): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    const remains = await remainsOf(server, sessionId);
    if (remains === undefined) {
      throw noSession("rebuild", sessionId);
    }
    const isDry = options.dryRun === true;
    const needsYes = refuseHopeless(sessionId, remains, options);
    const work = { remains, owner: options.owner };
    const rebuilt = await (isDry ? foresee : rebuildFrom)(server, sessionId, work);
    await screen.record({ ...rebuilt, ...(isDry && { dryRun: true, needsYes }) });
    for (const sentence of sentencesOf(rebuilt, isDry ? "would be rebuilt" : "rebuilt")) {
      await screen.line(printable(`${sessionId}: ${sentence}`));
    }
    if (needsYes) {
      await screen.line(printable(`${sessionId}: without --yes, nothing would be done.`));
    }
    const isWhole = rebuilt.unreadable.length + rebuilt.changed.length === 0 && !needsYes;
    return isWhole ? exitCodes.done : exitCodes.findings;
  } finally {
    await server.close();
  }
}

/**
 * True for a dry run that says what is done with `--yes` only.
 *
 * @throws DataError where nothing can be repaired; UsageError where the messages are gone, without `--yes`.
 */
function refuseHopeless(sessionId: string, remains: Remains, { yes, dryRun }: RebuildOptions): boolean {
  const name = JSON.stringify(sessionId);
  if (remains.foreign.has("log")) {
    throw new DataError(`rebuild: nothing was changed in ${name}: ${damageOf(remains).sentence}.`);
  }
  const needsYes = remains.messages === 0 && lengthBefore(remains) !== 0 && yes !== true;
  if (needsYes && dryRun !== true) {
    throw new UsageError(`rebuild: nothing was changed in ${name}: ${damageOf(remains).sentence}.`);
  }
  return needsYes;
}

interface Work {
  readonly remains: Remains;
  readonly owner: string | undefined;
}

/** The result that a rebuild would have; whose the session was, and its title, come out by the rebuild only. */
async function foresee(server: Server, sessionId: string, { remains }: Work): Promise<Rebuilt> {
  const { gone, unreadable, changed } = await findLostMessages(server, sessionId, remains);
  const base = remains.base ?? 0;
  return {
    sessionId,
    messages: remains.messages,
    before: lengthBefore(remains),
    gone,
    lost: [],
    removed: remains.messages === 0 && remains.missing.has("state"),
    unreadable: unreadable.map((index) => base + index),
    changed: changed.map((index) => base + index),
  };
}

async function rebuildFrom(server: Server, sessionId: string, { remains, owner }: Work): Promise<Rebuilt> {
  const { gone, unreadable, changed } = await findLostMessages(server, sessionId, remains);
  await server.memory.history(sessionId).rebuild(owner === undefined ? {} : { owner });
  const [after, details] = [await remainsOf(server, sessionId), await describeSession(server, sessionId)];
  const hadState = !remains.missing.has("state");
  return {
    sessionId,
    messages: after?.messages ?? 0,
    before: lengthBefore(remains),
    gone,
    unreadable: unreadable.map((index) => (after?.base ?? 0) + index),
    changed: changed.map((index) => (after?.base ?? 0) + index),
    removed: after === undefined,
    lost: hadState ? [] : (["owner", "title"] as const).filter((name) => nameIn(details, name) === undefined),
  };
}

function nameIn(details: Awaited<ReturnType<typeof describeSession>>, name: "owner" | "title"): string | undefined {
  return name === "owner" ? details?.owner : details?.label.title;
}

function sentencesOf(rebuilt: Rebuilt, done: string): string[] {
  const { messages, before, gone, unreadable, changed, lost } = rebuilt;
  if (rebuilt.removed) {
    const removed = done === "rebuilt" ? "was removed" : "would be removed";
    return [`nothing was left of it but the index of its messages, which ${removed}.`];
  }
  const places = gone === undefined || gone.length === 0 ? "" : `; ${placesIn(gone)} ${isOrAre(gone)} gone`;
  const left =
    before === undefined || before <= messages
      ? `${done} with ${counted(messages, "message")}${before === messages ? ", none is lost" : ""}.`
      : `${done}: ${whole(messages)} of ${counted(before, "message")} are left${places}.`;
  const stay = unreadable.length === 1 ? "it stays in the log, and is" : "they stay in the log, and are";
  const remain =
    changed.length === 1 ? "it stays in the log, and reads of it" : "they stay in the log, and reads of them";
  const verb = lost.length === 1 ? "is" : "are";
  return [
    left,
    ...(before === undefined ? ["how many messages there were is not known."] : []),
    ...(lost.length === 0 ? [] : [`its ${lost.join(" and ")}, if it had any, ${verb} lost.`]),
    ...(unreadable.length === 0 ? [] : [`${placesIn(singly(unreadable))} cannot be read: ${stay} passed over.`]),
    ...(changed.length === 0 ? [] : [`the key does not open ${placesIn(singly(changed))}: ${remain} fail.`]),
  ];
}

function singly(positions: readonly number[]): PositionRange[] {
  return positions.map((position) => [position, position]);
}

const mostNamed = 20;

/** Positions in words. */
function placesIn(ranges: readonly PositionRange[]): string {
  const named = ranges
    .slice(0, mostNamed)
    .map(([first, last]) => (first === last ? `${first}` : `${first} to ${last}`));
  const rest = ranges.length > mostNamed ? [`${whole(ranges.length - mostNamed)} more`] : [];
  return `position${isOrAre(ranges) === "is" ? "" : "s"} ${[...named, ...rest].join(", ")}`;
}

function isOrAre(ranges: readonly PositionRange[]): "is" | "are" {
  const [first, ...others] = ranges;
  return first !== undefined && others.length === 0 && first[0] === first[1] ? "is" : "are";
}
