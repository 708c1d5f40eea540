import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ask, Told } from "./entries.js";

/** A question with its answer. */
export interface Call extends Omit<Ask, "at" | "ask"> {
  /** The process that asked. */
  readonly client: string;
  readonly asked: number;
  /** When the answer came; Infinity where none came. */
  readonly told: number;
  readonly ok: boolean;
  readonly answer: Partial<Told>;
}

/** The calls of all journals in a folder. */
export function readJournals(folder: string): Call[] {
  return readdirSync(folder)
    .filter((name) => name.startsWith("client-"))
    .sort()
    .flatMap((name) => readJournal(name.replace(/^client-|\.jsonl$/g, ""), readFileSync(join(folder, name), "utf8")));
}

/** The calls of one journal. The last line of a process that was killed may be cut off. */
export function readJournal(client: string, text: string): Call[] {
  const asks = new Map<number, Ask>();
  const answers = new Map<number, Told>();
  for (const line of text.split("\n")) {
    const entry = parsed(line);
    if (entry !== undefined && "ask" in entry) {
      asks.set(entry.ask, entry);
    } else if (entry !== undefined) {
      answers.set(entry.told, entry);
    }
  }
  return [...asks.values()].map(({ at, ask, ...question }) => {
    const answer = answers.get(ask);
    return {
      ...question,
      client,
      asked: at,
      told: answer?.at ?? Infinity,
      ok: answer?.ok === true,
      answer: answer ?? {},
    };
  });
}

function parsed(line: string): Ask | Told | undefined {
  try {
    return line === "" ? undefined : (JSON.parse(line) as Ask | Told);
  } catch {
    return undefined;
  }
}
