import type { BaseMessage } from "@langchain/core/messages";
import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { MemoryError } from "../../../src/base/errors.js";
import { summaryMarkOf } from "../../../src/conversation/messages/message.js";
import type { RedisChatMessageHistory } from "../../../src/memory/histories/redis-chat-message-history.js";
import { validateConversation } from "../../../src/conversation/structure/validate.js";
import type { Ask, Told } from "../journal/entries.js";
import type { JournalWriter } from "../journal/journal-writer.js";
import { coverageIn, coverageText } from "../journal/coverage.js";
import { tokensIn, writeRuns, type Token } from "../journal/runs.js";
import type { SessionPlan } from "../plan/session-plan.js";
import type { Doors } from "./doors.js";
import type { ThreadState } from "./operations/put-checkpoints.js";

/** The door that work belongs to, for what happens inside of it. */
export const currentDoor = new AsyncLocalStorage<string | undefined>();

/** A turn that this lane wrote, with what is needed to send it again. */
export interface OwnTurn {
  readonly turn: string;
  readonly count: number;
  readonly isStored: boolean;
  /** True where its first message has the id `<turn>-0`, so that it can be named. */
  readonly isNamed: boolean;
  /** Sends it again as a job that is run again. */
  readonly again: (() => Promise<void>) | undefined;
}

/** Doors that write by a history of the owner; chains and agents name none. */
const ownedDoors = new Set(["ids", "turnId", "objects", "manager"]);

/** One client at work on one session. */
export class Lane {
  readonly own: OwnTurn[] = [];
  /** True where the session is known to be erased: an application would show that it is gone. */
  isErased = false;
  /** The newest checkpoint of the thread that this process owns; undefined where it has to be read. */
  thread: ThreadState | undefined;
  /** That thread: the process that begins again after its death takes it over. */
  readonly threadId: string;
  readonly #journal: JournalWriter;
  readonly #name: () => string;
  /** Rounds of the longest turn that is brought in. */
  readonly longest: number;

  constructor(
    readonly session: SessionPlan,
    readonly doors: Doors,
    {
      journal,
      name,
      process,
      longest,
    }: {
      readonly journal: JournalWriter;
      readonly name: () => string;
      readonly process: number;
      readonly longest?: number;
    },
  ) {
    // Long turns are read soon in sessions whose view a reducer keeps small.
    this.longest = longest ?? (["none", "foreign"].includes(session.reducer) ? 10 : 50);
    this.threadId = `${session.id}p${process}`;
    this.#journal = journal;
    this.#name = name;
  }

  get history(): RedisChatMessageHistory {
    const { id, owner } = this.session;
    return this.doors.memory.history(id, owner === undefined ? {} : { owner });
  }

  /** The session beside this one whose answers are runs. */
  get chat(): string {
    return `${this.session.id}.chat`;
  }

  /** A name that no other turn of the run has. */
  newTurn(): string {
    return this.#name();
  }

  /** Asks something, and notes what was asked and what was told. Returns undefined where it failed. */
  async ask(
    question: Omit<Ask, "at" | "ask" | "session"> & { readonly session?: string },
    work: () => Promise<Partial<Told> | void>,
  ): Promise<boolean> {
    const { id, waits, owner } = this.session;
    const isOwned = owner !== undefined && ownedDoors.has(question.door ?? "");
    const whole = this.#isWhole(question.do);
    const more = { ...(isOwned && { owner }), ...question, ...(waits && { waits }), ...(whole && { whole }) };
    const number = this.#journal.ask({ session: id, ...more });
    try {
      const answer = await currentDoor.run(question.door, work);
      this.#journal.told(number, { ...answer, ok: answer?.ok ?? true });
      return answer?.ok ?? true;
    } catch (error) {
      const code = codeOf(error);
      this.isErased ||= code === "erased";
      this.#journal.told(number, { ok: false, error: code });
      return false;
    }
  }

  /** Writes a turn, again and again until it is stored or the patience ends. */
  async store(
    turn: Omit<Ask, "at" | "ask" | "session" | "do"> & { readonly turn: string; readonly do?: "append" | "replace" },
    attempt: (number: number) => Promise<Partial<Told> | void>,
    { patience = 4 }: { readonly patience?: number } = {},
  ): Promise<boolean> {
    for (let number = 1; number <= patience && !this.isErased; number += 1) {
      if (await this.ask({ do: "append", ...turn }, () => attempt(number))) {
        return true;
      }
      await pause(20 * number);
    }
    return false;
  }

  /** True for a read that shows all that is stored. */
  #isWhole(deed: Ask["do"]): boolean {
    const { reducer, retention } = this.session;
    return reducer === "none"
      ? deed === "view" || deed === "transcript"
      : deed === "transcript" && retention === "keep";
  }

  close(): void {
    this.own.length = 0;
  }
}

/** The journal's fields for a view. */
export function described(view: readonly BaseMessage[]): Pick<Told, "runs" | "covered" | "issues"> {
  const issues = issuesOf(view);
  const summaries = view.filter((message) => summaryMarkOf(message) !== undefined);
  return {
    runs: writeRuns(tokensOf(view)),
    ...(summaries.length > 0 && { covered: summaries.map(({ text }) => coverageText(coverageIn(text))) }),
    ...(issues.length > 0 && { issues }),
  };
}

/** The rules that a conversation breaks. */
export function issuesOf(view: readonly BaseMessage[]): string[] {
  return validateConversation(view, { profile: "langchain" })
    .filter(({ severity }) => severity === "error")
    .map(({ rule }) => rule);
}

/** The places of messages in their turns; summaries have none. */
export function tokensOf(messages: readonly BaseMessage[]): Token[] {
  return messages
    .filter((message) => summaryMarkOf(message) === undefined)
    .flatMap(({ text }) => tokensIn(text).slice(0, 1));
}

function codeOf(error: unknown): string {
  if (MemoryError.isInstance(error)) {
    return error.code;
  }
  return error instanceof Error ? `${error.name}: ${error.message}`.slice(0, 200) : "unknown";
}
