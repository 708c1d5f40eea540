import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Server } from "../../server.js";
import { problemOf } from "./request-problem.js";
import type { SessionCatalogue } from "./session-catalogue.js";

const everyMs = 1_000;

/** The watched sessions and their listeners. */
export interface Watch {
  readonly server: Server;
  readonly catalogue: SessionCatalogue;
  /** The open session; undefined where only the list is shown. */
  readonly sessionId: string | undefined;
}

/**
 * Notifies a page, for as long as it listens, that the open session or the list of sessions changed. Reads the figures
 * of the session once a second, and no message.
 */
export async function sendEvents(response: ServerResponse, { server, catalogue, sessionId }: Watch): Promise<void> {
  const ended = new AbortController();
  response.on("close", () => ended.abort());
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event: string, data: object) => response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const seen: Record<string, string> = {};
  const tell = (event: string, version: string) => {
    if (seen[event] !== version) {
      seen[event] = version;
      send(event, { version });
    }
  };
  while (!ended.signal.aborted) {
    try {
      if (sessionId !== undefined) {
        const stats = await server.store.data.readStats({ id: sessionId });
        tell("session", JSON.stringify([stats?.messages, stats?.viewMessages, stats?.reduced, stats?.updatedAt]));
      }
      tell("sessions", await catalogue.version());
      tell("server", "reached");
    } catch (error) {
      tell("server", problemOf(error).sentence);
    }
    await pause(everyMs, undefined, { signal: ended.signal }).catch(() => undefined);
  }
}
