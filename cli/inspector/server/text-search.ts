import { jsonText } from "../../../src/base/json-text.js";
import { callsOf, textOf } from "../../../src/conversation/messages/content.js";
import type { Server } from "../../server.js";
import type { FoundInSession, FoundSessions } from "../model/data.js";
import { readLog } from "./log-reader.js";
import { readableText } from "./readable-text.js";

/** Time after which a search says how far it is. */
const longestMs = 3_000;
const mostMessages = 200_000;
const mostPositions = 1_000;
const sessionsAtOnce = 20;

/** Messages of a session whose text, or whose tools' arguments, hold the words, in any case; oldest first. */
export async function findInSession(
  server: Server,
  sessionId: string,
  { text, from }: { readonly text: string; readonly from: number },
): Promise<FoundInSession> {
  const words = text.toLowerCase();
  const begun = performance.now();
  const positions: number[] = [];
  let searched = from;
  for await (const { items, page } of readLog(server, sessionId, { from })) {
    for (const { message, position } of items) {
      const held = message && [textOf(message), ...callsOf(message).map(({ args }) => jsonText(args) ?? "")].join("\n");
      if (held?.toLowerCase().includes(words) === true) {
        positions.push(position);
      }
      searched = position + 1;
    }
    if (positions.length >= mostPositions || performance.now() - begun > longestMs) {
      return { positions, ...(searched < page.next && { next: searched }) };
    }
  }
  return { positions };
}

/** Sessions in whose messages the words stand, by their ids, as `memory.sessions.search` finds them. */
export async function findSessions(
  { memory }: Server,
  { text, cursor }: { readonly text: string; readonly cursor: string | undefined },
): Promise<FoundSessions> {
  const page = await memory.sessions.search({
    ...{ text, roles: ["human", "ai", "tool", "system"], limit: sessionsAtOnce },
    ...{ maxMessages: mostMessages, ...(cursor !== undefined && { cursor }) },
  });
  const { sessions, next, searched } = page;
  return {
    sessions: sessions.map(({ sessionId, title, match }) => ({
      sessionId,
      ...(match && { position: match.position }),
      ...(title !== undefined && { title: readableText(title) }),
    })),
    ...(next !== null && { next }),
    searched,
  };
}
