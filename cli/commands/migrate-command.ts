import { stat } from "node:fs/promises";
import { Command } from "commander";
import { ConflictError, MemoryError } from "../../src/base/errors.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import { UsageError } from "../failure.js";
import { compareSession, copySession, Pace, type Copied, type Difference } from "../migrate/copy-session.js";
import { documentSessions } from "../migrate/document-source.js";
import { countElements, listSessions, literalStart, ownerOf, type ForeignKey } from "../migrate/list-source.js";
import type { Skipped, SourceSession } from "../migrate/source.js";
import { counted, whole } from "../figures.js";
import { positiveOperand } from "../operands.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

interface MigrateOptions extends ServerOptions {
  readonly pattern?: string;
  readonly strip?: string;
  readonly file?: string;
  readonly owner?: string;
  readonly dryRun?: boolean;
  readonly verify?: boolean;
  readonly rate?: number;
  readonly inPlace?: boolean;
}

/** `migrate`: copies histories that other packages wrote. */
export function migrateCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--pattern <glob>", "keys of the lists, such as 'message_store:*'; found by SCAN")
    .option("--strip <prefix>", "what session ids lack of the keys (default: the pattern up to its first wildcard)")
    .option("--file <path>", "instead of lists: exported RedisJSON documents of langchain-redis, one a line")
    .option("--owner <name>", "owner of the copies; $1 to $9 are what the pattern's wildcards match")
    .option("--dry-run", "read and count only; with --in-place, name the lists to remove")
    .option("--verify", "read both sides afterwards and compare message by message; with --dry-run, only that")
    .option("--rate <number>", "messages a second at most", positiveOperand)
    .option("--in-place", "remove each list after its copy was verified")
    .addHelpText("after", helpText);
  return { command, run: (context, options) => migrate(context, options as MigrateOptions) };
}

const helpText = `
Copies lists that @langchain/redis, @langchain/community or LangChain in Python
wrote. Run it again to go on after an interruption, or to copy what was added:
a message that is stored is not stored again.`;

/** The counts so far. */
interface Tally {
  sessions: number;
  messages: number;
  stored: number;
  duplicates: number;
  skipped: number;
  failed: number;
  different: number;
  /** Lists that were removed, or would be. */
  removed: number;
  /** Keys of the pattern that are no lists. */
  foreign: number;
}

const newTally = (): Tally => ({
  sessions: 0,
  messages: 0,
  stored: 0,
  duplicates: 0,
  skipped: 0,
  failed: 0,
  different: 0,
  removed: 0,
  foreign: 0,
});

async function migrate(context: CommandContext, options: MigrateOptions): Promise<ExitCode> {
  check(options);
  const { screen, env, signal } = context;
  const server = await openServer(options, env);
  const tally = newTally();
  const noteSkipped = (skipped: Skipped) => {
    tally.skipped += 1;
    const reason = skipped.reason.replace(/^The record( at position \d+)? cannot be read: /, "");
    return report(screen, { ...skipped, problem: "cannot be read", reason });
  };
  const noteForeign = (foreign: ForeignKey) => {
    tally.foreign += 1;
    return reportForeign(screen, foreign);
  };
  const began = performance.now();
  try {
    const { bar, onMessages, onRead } = await progress(server, options, context);
    const migration = new Migration({ server, options, context, tally, noteSkipped, onMessages });
    try {
      for await (const source of sourcesOf(server, { options, context, noteSkipped, noteForeign, onRead })) {
        if (signal.aborted) {
          break;
        }
        await migration.move(source);
      }
    } finally {
      bar.stop();
    }
  } finally {
    await server.close();
  }
  await summarize(screen, { tally, options, seconds: (performance.now() - began) / 1_000, signal });
  const { sessions, skipped, failed, different, foreign } = tally;
  if (skipped + failed + different + foreign > 0) {
    return exitCodes.findings;
  }
  return sessions === 0 ? exitCodes.nothing : exitCodes.done;
}

interface MigrationSetting {
  readonly server: Server;
  readonly options: MigrateOptions;
  readonly context: CommandContext;
  readonly tally: Tally;
  readonly noteSkipped: (skipped: Skipped) => Promise<void>;
  readonly onMessages: (count: number) => void;
}

/** Moves one session after the other. A failure of one is reported, and the next is moved. */
class Migration {
  readonly #setting: MigrationSetting;
  readonly #pace: Pace;

  constructor(setting: MigrationSetting) {
    this.#setting = setting;
    this.#pace = new Pace(setting.options.rate);
  }

  async move(source: SourceSession): Promise<void> {
    const { options, context, tally, noteSkipped, onMessages } = this.#setting;
    const { signal, screen } = context;
    const isDry = options.dryRun === true;
    tally.sessions += 1;
    try {
      const target = this.#target(source);
      const count = async (messages: number, skipped: readonly Skipped[]) => {
        tally.messages += messages;
        onMessages(messages);
        for (const one of skipped) {
          await noteSkipped(one);
        }
      };
      const copied = await copySession(source, target, { isDry, pace: this.#pace, signal, onPage: count });
      tally.stored += isDry ? 0 : copied.appended;
      tally.duplicates += copied.duplicates;
      await this.#verify(source, target, copied);
    } catch (error) {
      if (!MemoryError.isInstance(error) || error.retryable) {
        throw error;
      }
      tally.failed += 1;
      const wentOn = ConflictError.isInstance(error) && error.code === "position";
      const reason = wentOn ? otherMessages(source.sessionId) : error.message;
      const problem = isDry ? "cannot be copied" : "was not copied";
      await report(screen, { place: source.place, problem, reason });
    }
  }

  async #verify(source: SourceSession, target: RedisChatMessageHistory, copied: Copied): Promise<void> {
    const { options, context, tally } = this.#setting;
    if ((!options.verify && !options.inPlace) || context.signal.aborted) {
      return;
    }
    // Without a copy there is nothing to compare, unless it was asked for.
    const compares = options.verify === true || options.dryRun !== true;
    const difference: Difference | undefined = compares ? await compareSession(source, target) : undefined;
    if (difference !== undefined) {
      tally.different += 1;
      await report(context.screen, { place: source.place, problem: "differs", ...difference });
    } else if (options.inPlace && copied.skipped === 0) {
      await this.#remove(source, copied);
    }
  }

  async #remove(source: SourceSession, { appended, duplicates }: Copied): Promise<void> {
    const { options, context, tally } = this.#setting;
    const { place } = source;
    if (options.dryRun === true) {
      await context.screen.record({ place, wouldRemove: true });
      await context.screen.line(printable(`${place}: would be removed`));
    } else if ((await source.remove?.(appended + duplicates)) !== true) {
      tally.failed += 1;
      const reason = "messages were added meanwhile; run the same command again";
      await report(context.screen, { place, problem: "was not removed", reason });
      return;
    }
    tally.removed += 1;
  }

  /** The copy expires when the list would have. */
  #target({ sessionId, place, ttl }: SourceSession): RedisChatMessageHistory {
    const { server, options } = this.#setting;
    const { owner, pattern } = options;
    const access = owner === undefined ? {} : { owner: pattern === undefined ? owner : ownerOf(place, pattern, owner) };
    if (ttl === undefined) {
      return server.memory.history(sessionId, access);
    }
    return new RedisChatMemory({ store: server.store, sessionTTL: ttl }).history(sessionId, access);
  }
}

function check({ pattern, strip, file, owner, inPlace }: MigrateOptions): void {
  if ((pattern === undefined) === (file === undefined)) {
    throw new UsageError("migrate: give either --pattern (lists in Redis) or --file (exported documents).");
  }
  if (file !== undefined && (strip !== undefined || inPlace)) {
    throw new UsageError("migrate: --strip and --in-place are for lists; they cannot be combined with --file.");
  }
  if (file !== undefined && /\$[1-9]/.test(owner ?? "")) {
    throw new UsageError(
      "migrate: $1 to $9 in --owner are for the wildcards of --pattern; name one owner with --file.",
    );
  }
}

interface Sources extends Pick<MigrationSetting, "options" | "context" | "noteSkipped"> {
  readonly noteForeign: (foreign: ForeignKey) => Promise<void>;
  readonly onRead: (bytes: number) => void;
}

async function* sourcesOf(server: Server, sources: Sources): AsyncGenerator<SourceSession> {
  const { pattern, strip, file } = sources.options;
  const { signal } = sources.context;
  if (file !== undefined) {
    yield* documentSessions(file, { onSkipped: sources.noteSkipped, onRead: sources.onRead, signal });
    return;
  }
  const selection = { pattern: pattern!, strip: strip ?? literalStart(pattern!), ownPrefix: server.keyPrefix, signal };
  yield* listSessions(server.client, selection, sources.noteForeign);
}

/** Messages of lists are counted first only where somebody sees it. The progress of a file is that of reading it. */
async function progress(server: Server, options: MigrateOptions, { screen, signal }: CommandContext) {
  const { pattern, file, verify } = options;
  if (file !== undefined) {
    const size = (await stat(file).catch(() => undefined))?.size;
    // It is read for the places of its documents, then for these, and once more to compare.
    const bar = new ProgressBar(screen, { total: size && size * (verify ? 3 : 2) });
    return { bar, onRead: (count: number) => bar.advance(count), onMessages: () => undefined };
  }
  const selection = { pattern: pattern!, strip: "", ownPrefix: server.keyPrefix, signal };
  const total = screen.showsProgress ? await countElements(server.client, selection) : undefined;
  const bar = new ProgressBar(screen, { total, unit: "messages" });
  return { bar, onRead: () => undefined, onMessages: (count: number) => bar.advance(count) };
}

interface Report {
  readonly place: string;
  readonly problem: string;
  readonly reason: string;
  readonly index?: number;
}

async function report(screen: Screen, { place, problem, reason, index }: Report): Promise<void> {
  await screen.record({ place, problem, reason, ...(index !== undefined && { index }) });
  const at = index === undefined ? "" : `, number ${index}`;
  await screen.line(printable(`${place}${at}: ${problem}: ${reason}`));
}

/** The reason and the remedy where a copy would have a wrong order, because somebody else wrote to the session. */
function otherMessages(sessionId: string): string {
  return (
    `session "${sessionId}" holds messages that are not of this list, and the rest would come after them; stop the ` +
    "writers of the list first, then delete the session and copy the list again, or leave it as it is"
  );
}

/** Names a key that is no list, where those who look for all of their histories see it. */
async function reportForeign(screen: Screen, { key, type }: ForeignKey): Promise<void> {
  await screen.record({ place: key, problem: "is no list", reason: type });
  const advice = /json/i.test(type) ? "; migrate --file copies exported documents" : "";
  screen.note(printable(`${key}: is no list (${type}): not copied${advice}`));
}

interface Summary {
  readonly tally: Tally;
  readonly options: MigrateOptions;
  readonly seconds: number;
  readonly signal: AbortSignal;
}

async function summarize(screen: Screen, { tally, options, seconds, signal }: Summary): Promise<void> {
  await screen.record({ ...tally, seconds, interrupted: signal.aborted, dryRun: options.dryRun === true });
  const { sessions, messages, stored, duplicates, skipped, failed, different, removed, foreign } = tally;
  const rate = whole(Math.round(messages / Math.max(seconds, 0.001)));
  await screen.line(`${counted(sessions, "session")}, ${counted(messages, "message")}, ${rate} a second.`);
  await screen.line(
    options.dryRun
      ? "Nothing was written (--dry-run)."
      : `${counted(stored, "message")} stored now, ${whole(duplicates)} before.`,
  );
  if (skipped + failed > 0) {
    await screen.line(`${whole(skipped)} cannot be read, ${counted(failed, "session")} failed; see above.`);
  }
  if (foreign > 0) {
    await screen.line(`${counted(foreign, "key")} of the pattern held no list; see above.`);
  }
  if (options.inPlace) {
    await screen.line(`${options.dryRun ? "To be removed" : "Removed"}: ${counted(removed, "list")}.`);
  }
  if (options.verify || (options.inPlace && !options.dryRun)) {
    const same = skipped + failed > 0 ? "What was copied is the same on both sides." : "Both sides are the same.";
    await screen.line(different === 0 ? same : `Different: ${counted(different, "session")}; see above.`);
  }
  if (signal.aborted) {
    screen.note("Interrupted. Run the same command again to go on; what is stored is not stored again.");
  }
}
