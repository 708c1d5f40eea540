import { setTimeout as pause } from "node:timers/promises";
import { Command } from "commander";
import type { MemoryEvent } from "../../src/base/events.js";
import type { PageItem } from "../../src/memory/session/screen-pages.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import { damageOf, remainsOf } from "../damage.js";
import { contentOf, kindOf } from "../message-line.js";
import { positiveOperand } from "../operands.js";
import { printable } from "../printable.js";
import { whole } from "../figures.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

interface WatchOptions extends ServerOptions {
  readonly content?: boolean;
  readonly every: number;
}

const pageSize = 200;

/** `watch`: what is written to a session. */
export function watchCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("<session>", "the session's id"))
    .option("--content", "show the messages' text too")
    .option("--every <milliseconds>", "how often to look", positiveOperand, 500)
    .addHelpText("after", "\nEnds with Ctrl-C.");
  return {
    command,
    run: (context, options, [session]) => watch(context, options as WatchOptions, session as string),
  };
}

async function watch(context: CommandContext, options: WatchOptions, sessionId: string): Promise<ExitCode> {
  const { screen, env, signal } = context;
  const events: MemoryEvent[] = [];
  const server = await openServer(options, env, (event) => events.push(event));
  try {
    const history = server.memory.history(sessionId);
    let last = (await history.getPage({ limit: 1 })).items.at(-1)?.position ?? -1;
    let reductions = (await history.stats()).reductions;
    await markMissing(screen, server, sessionId);
    screen.note(`Watching ${printable(sessionId)}; Ctrl-C ends it.`);
    let damage: string | undefined;
    while (!signal.aborted) {
      // Asked first: the messages that made the reducer reduce are on the pages that follow, and are shown before it.
      const seen = (await history.stats()).reductions;
      const { total, items, next } = await history.getPage({ after: last, limit: pageSize, order: "log" });
      const end = items.at(-1)?.position;
      for (const item of items) {
        await print(screen, item, options.content === true);
      }
      if (items.length === 0 && next === null) {
        last = await shortened(screen, { last, total, newest: await newest(history) });
      }
      last = end ?? last;
      if (seen > reductions && next === null) {
        const { before, after } = (await history.getReductions()).at(-1)!;
        await screen.record({ reduced: { before, after } });
        await screen.line(`reduced: ${whole(before.messages)} → ${whole(after.messages)} messages in the view`);
      }
      reductions = next === null ? seen : reductions;
      damage = await mark(screen, { server, sessionId, events, lastDamage: damage });
      if (next === null) {
        await pause(options.every, undefined, { signal }).catch(() => undefined);
      }
    }
    return exitCodes.interrupted;
  } finally {
    await server.close();
  }
}

async function markMissing(screen: Screen, server: Server, sessionId: string): Promise<void> {
  if ((await remainsOf(server, sessionId)) === undefined) {
    await screen.record({ missing: true });
    await screen.line("there is no session of this id yet; check --prefix");
  }
}

interface Watched {
  readonly server: Server;
  readonly sessionId: string;
  /** Events of the reads since the last look; emptied here. */
  readonly events: MemoryEvent[];
  /** The damage that is on the screen already. */
  readonly lastDamage: string | undefined;
}

/** Says that the session is damaged, once for each damage, and returns the damage. */
async function mark(screen: Screen, { server, sessionId, events, lastDamage }: Watched): Promise<string | undefined> {
  const isReported = events.splice(0).some(({ type }) => type === "damaged");
  const remains = await remainsOf(server, sessionId);
  // A log or an index alone is no session to the library: it reports no damage.
  const isDamaged = remains !== undefined && (isReported || remains.missing.has("state"));
  const damage = isDamaged ? damageOf(remains).sentence : undefined;
  if (damage !== undefined && damage !== lastDamage) {
    await screen.record({ damaged: damage });
    await screen.line(printable(`damaged: ${damage}`));
  }
  return damage;
}

async function newest(history: { getPage(options: { limit: number }): Promise<{ items: PageItem[] }> }) {
  return (await history.getPage({ limit: 1 })).items.at(-1)?.position ?? -1;
}

/** A session that ends before what was shown was rewound, or cleared. */
async function shortened(
  screen: Screen,
  { last, total, newest }: { readonly last: number; readonly total: number; readonly newest: number },
): Promise<number> {
  if (newest >= last) {
    return last;
  }
  await screen.record({ shortened: { messages: total } });
  await screen.line(total === 0 ? "the session was cleared or has expired" : `rewound to ${whole(total)} messages`);
  return newest;
}

async function print(screen: Screen, { position, at, message }: PageItem, withContent: boolean): Promise<void> {
  const content = contentOf(message);
  await screen.record({
    position,
    ...(at !== undefined && { at }),
    kind: kindOf(message),
    id: message.id,
    ...(withContent && { content: content.join("\n") }),
  });
  const time = at === undefined ? "" : `${new Date(at).toISOString().slice(11, 19)}  `;
  await screen.line(`${String(position).padStart(5)}  ${time}${kindOf(message)}`);
  for (const line of withContent ? content : []) {
    await screen.line(`       ${line}`, { indent: 7, paint: screen.colours.cyan });
  }
}
