import { Command } from "commander";
import { EncryptionError, MemoryError } from "../../src/base/errors.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { builtInProfiles, type BuiltInProfile } from "../../src/structure/profiles/built-in-profiles.js";
import { validateConversation } from "../../src/structure/validate.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { damageOf, problemOf, remainsOf, unreadableRecords, type Remains } from "../damage.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { reasonOf, UsageError } from "../failure.js";
import { counted, whole } from "../figures.js";
import { interrupted } from "../interruption.js";
import { keysVariable } from "../keys-variable.js";
import { oneOf } from "../operands.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

interface CheckOptions extends ServerOptions {
  readonly all?: boolean;
  readonly profile: BuiltInProfile;
  readonly warnings?: boolean;
}

/** Something wrong with a session. */
interface SessionFinding {
  readonly sessionId: string;
  readonly problem: "missing" | "damaged" | "unreadable record" | "structure" | "unreadable";
  readonly severity: "error" | "warning";
  readonly detail: string;
  /** Place in the view for `structure`, in the log for an unreadable record. */
  readonly position?: number;
  /** The key that is missing. */
  readonly keyId?: string;
}

/** `check`: damage in Redis, and what a model would refuse. */
export function checkCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("[sessions...]", "ids of sessions"))
    .option("--all", "check every session")
    .option("--profile <name>", `rules of ${profiles.join(", ")}`, oneOf(profiles), "langchain")
    .option("--warnings", "show warnings too")
    .addHelpText(
      "after",
      "\nStructure is checked in the view, as it is stored. What goes to a model is\n" +
        "repaired on its way, so a finding there is no failure of a turn; damage is.",
    );
  return {
    command,
    run: (context, options, [sessions]) => check(context, options as CheckOptions, sessions as string[]),
  };
}

async function check(
  { screen, env, signal }: CommandContext,
  options: CheckOptions,
  sessions: readonly string[],
): Promise<ExitCode> {
  if ((options.all === true) === sessions.length > 0) {
    throw new UsageError("check: name sessions, or give --all.");
  }
  const events: MemoryEvent[] = [];
  const server = await openServer(options, env, (event) => events.push(event));
  const bar = new ProgressBar(screen, { total: options.all ? undefined : sessions.length, unit: "sessions" });
  let [checked, unopened, found, errors] = [0, 0, 0, 0];
  const lacking = new Map<string, number>();
  try {
    for await (const sessionId of namesOf(server, sessions, signal)) {
      const { isOpened, all } = await look(server, { sessionId, options, events });
      const findings = all.filter(({ severity }) => severity === "error" || options.warnings);
      await printFindings(screen, findings, options.all ? lacking : undefined);
      found += findings.length;
      errors += findings.filter(({ severity }) => severity === "error").length;
      checked += isOpened ? 1 : 0;
      unopened += !isOpened && all.length > 0 ? 1 : 0;
      bar.advance();
    }
  } finally {
    bar.stop();
    await server.close();
  }
  await printLacking(screen, lacking);
  const not = unopened === 0 ? "" : `, ${whole(unopened)} could not be`;
  await screen.line(`${counted(checked, "session")} checked${not}, ${counted(found, "finding")}.`);
  if (signal.aborted) {
    return interrupted(screen, "Not all sessions were checked.");
  }
  return errors > 0 ? exitCodes.findings : found > 0 ? exitCodes.warnings : exitCodes.done;
}

/** With `lacking`, sessions whose key is missing are counted there by key, and not printed as text. */
async function printFindings(
  screen: Screen,
  findings: readonly SessionFinding[],
  lacking: Map<string, number> | undefined,
): Promise<void> {
  for (const finding of findings) {
    const { sessionId, problem, position, detail, keyId } = finding;
    await screen.record(finding);
    if (keyId !== undefined && lacking !== undefined) {
      lacking.set(keyId, (lacking.get(keyId) ?? 0) + 1);
    } else {
      const place = position === undefined ? "" : ` ${position}`;
      await screen.line(printable(`${sessionId}: ${problem}${place}: ${detail}`));
    }
  }
}

async function printLacking(screen: Screen, lacking: ReadonlyMap<string, number>): Promise<void> {
  for (const [keyId, count] of lacking) {
    const needing = `${counted(count, "session")} need${count === 1 ? "s" : ""} the key ${JSON.stringify(keyId)}`;
    await screen.line(printable(`${needing}, which is not in ${keysVariable}: not checked`));
  }
}

async function* namesOf(server: Server, sessions: readonly string[], signal: AbortSignal): AsyncGenerator<string> {
  if (sessions.length > 0) {
    yield* sessions;
    return;
  }
  for await (const sessionId of server.plainLists.scan()) {
    if (signal.aborted) {
      return;
    }
    yield sessionId;
  }
}

interface Checked {
  readonly sessionId: string;
  readonly options: CheckOptions;
  /** Events of this command's reads; emptied here. */
  readonly events: MemoryEvent[];
}

const pageSize = 500;

/** The findings of a session. It counts as checked where it was opened: its messages were read, and looked at. */
interface Look {
  readonly isOpened: boolean;
  readonly all: readonly SessionFinding[];
}

async function look(server: Server, { sessionId, options, events }: Checked): Promise<Look> {
  const remains = await remainsOf(server, sessionId);
  if (remains === undefined && options.all === true) {
    return { isOpened: false, all: [] };
  }
  if (remains === undefined) {
    const detail = "there is no session of this id; check --prefix";
    return { isOpened: false, all: [{ sessionId, problem: "missing", severity: "error", detail }] };
  }
  events.length = 0;
  const { memory } = server;
  const history = memory.history(sessionId);
  try {
    const view = await history.getMessages();
    let after: number | null = -1;
    while (after !== null) {
      ({ next: after } = await history.getPage({ after, limit: pageSize }));
    }
    const issues = validateConversation(view, { profile: options.profile });
    const structure = issues.map(({ rule, severity, index, message }) => ({
      ...{ sessionId, problem: "structure" as const, severity, position: index, detail: `${rule}: ${message}` },
    }));
    return { isOpened: true, all: [...(await damageIn(server, { sessionId, remains, events })), ...structure] };
  } catch (error) {
    if (!MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    return { isOpened: false, all: [await failure(server, sessionId, error)] };
  }
}

/** The finding of a session that could not be opened. */
async function failure(server: Server, sessionId: string, error: MemoryError): Promise<SessionFinding> {
  if (error.code === "wrong_type") {
    const detail = await problemOf(server, sessionId, error);
    return { sessionId, problem: "damaged", severity: "error", detail };
  }
  const keyId = EncryptionError.isInstance(error) && error.code === "unknown_key" ? error.keyId : undefined;
  const finding = { sessionId, problem: "unreadable", severity: "error", detail: reasonOf(error) } as const;
  return { ...finding, ...(keyId !== undefined && { keyId }) };
}

async function damageIn(
  server: Server,
  { sessionId, remains: before, events }: Pick<Checked, "sessionId" | "events"> & { readonly remains: Remains },
): Promise<SessionFinding[]> {
  const found: SessionFinding[] = [];
  // The index of its messages alone is no session to the library: it reports no damage.
  const isDamaged = events.some(({ type }) => type === "damaged") || before.missing.has("state");
  const remains = isDamaged ? await remainsOf(server, sessionId) : undefined;
  if (remains !== undefined) {
    found.push({ sessionId, problem: "damaged", severity: "error", detail: damageOf(remains).sentence });
  }
  const unreadable = unreadableRecords(events).map((record) => ({
    ...{ sessionId, problem: "unreadable record" as const, severity: "error" as const, ...record },
  }));
  return [...found, ...unreadable];
}
