import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Redis } from "ioredis";

/** A connection that sees all commands that a client sends. */
export interface Monitor {
  /** Ends it when every command that was sent before was seen, and returns the commands that were. */
  stop(): Promise<string[][]>;
  disconnect(): void;
}

/**
 * Watches the commands of one client, on a server that others may use. Its socket is its own: while a monitor of
 * ioredis opens or closes, the lines of a busy server come as replies to no command, and each is an error that nobody
 * handles and a reason to connect again.
 */
export async function monitorOf(client: Redis): Promise<Monitor> {
  const { localPort, remotePort, remoteAddress } = (client as unknown as { stream: Socket }).stream;
  const sender = new RegExp(`^\\+[\\d.]+ \\[\\d+ [^\\]]*:${localPort}\\] `);
  const socket = connect(remotePort!, remoteAddress);
  const lines: string[] = [];
  let rest = "";
  socket.setEncoding("utf8").on("data", (text: string) => {
    const all = (rest + text).split("\r\n");
    rest = all.pop()!;
    lines.push(...all);
  });
  socket.write("MONITOR\r\n");
  while (lines[0] !== "+OK") {
    await once(socket, "data");
  }
  const stop = async () => {
    const last = randomUUID();
    await client.ping(last);
    while (!lines.some((line) => line.includes(last))) {
      await once(socket, "data");
    }
    socket.destroy();
    const seen = lines.filter((line) => sender.test(line)).map((line) => wordsIn(line.replace(sender, "")));
    return seen.slice(
      0,
      seen.findIndex((words) => words[1] === last),
    );
  };
  return { stop, disconnect: () => socket.destroy() };
}

/** The words of a command as MONITOR writes them: each quoted, with backslashes before quotes and backslashes. */
function wordsIn(command: string): string[] {
  return [...command.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!.replace(/\\(["\\])/g, "$1"));
}
