import type { BaseMessage } from "@langchain/core/messages";
import { turnIn, turnNameOf } from "../codec/record-meta.js";
import { roleOf } from "../messages/roles.js";
import { splitRounds, type Round } from "../messages/rounds.js";

/** A message with its record. */
interface Entry {
  readonly message: BaseMessage;
  readonly record: string;
}

/** A question and what answers it, in the order of the log. */
interface Group<E> {
  readonly entries: E[];
  /** True while a question without a turn's name waits for its answer. */
  isOpen: boolean;
}

/**
 * Messages of the log in the order of the conversation: each answer behind its question, also where it was stored
 * behind a later turn, because its run was killed and tried again or took longer. Questions stay in their order.
 *
 * Messages that carry the name of a turn stand where its first message stands. A turn is named by its question's id
 * where it has no other name, so that an answer also finds a question that was stored by itself. An answer whose
 * question is not in the list stays where it is. The same list where nothing has to move. Linear.
 */
export function inTurnOrder<E extends Entry>(entries: readonly E[]): readonly E[] {
  return isInTurnOrder(entries.map(({ record }) => record)) ? entries : grouped(entries).groups.flat();
}

/** True for records whose order {@link inTurnOrder} keeps; false also for some others of these. Decodes nothing. */
export function isInTurnOrder(records: readonly string[]): boolean {
  const seen = new Set<string>();
  let before: string | undefined;
  for (let index = 0; index < records.length; index += 1) {
    const name = turnIn(records[index]!);
    if (name !== undefined && name !== before) {
      if (seen.has(name) || (index > 0 && !isInputRecord(records[index]!))) {
        return false;
      }
      seen.add(name);
    }
    before = name;
  }
  return true;
}

/** The rounds of messages of the log, which begin with the round of this number; answers stand with their questions. */
export function roundsInTurnOrder(entries: readonly Entry[], firstIndex: number): Round[] {
  const questions = entries.filter(({ message }) => roleOf(message) === "human");
  const numbers = new Map(questions.map(({ message }, index) => [message, firstIndex + index]));
  const ordered = inTurnOrder(entries).map(({ message }) => message);
  return splitRounds(ordered, { firstIndex }).map(({ index, messages }) => {
    return { index: numbers.get(messages[0]!) ?? index, messages };
  });
}

/** Names of the turns whose question is not in the list: it stands before it, or has another name, or there is none. */
export function turnsWithoutQuestion(entries: readonly Entry[]): ReadonlySet<string> {
  return grouped(entries).withoutQuestion;
}

interface Grouped<E> {
  /** Each a question and what answers it, in the order of the questions. */
  readonly groups: readonly (readonly E[])[];
  readonly withoutQuestion: ReadonlySet<string>;
}

function grouped<E extends Entry>(entries: readonly E[]): Grouped<E> {
  const groups: Group<E>[] = [];
  const withoutQuestion = new Set<string>();
  const byName = new Map<string, Group<E>>();
  let current: Group<E> | undefined;
  for (const entry of entries) {
    const { message, record } = entry;
    const name = turnIn(record);
    const last = groups.at(-1);
    let group = name === undefined ? undefined : byName.get(name);
    if (group === undefined && !isInput(message)) {
      if (name !== undefined) {
        withoutQuestion.add(name);
      }
      // A question that waits for an answer may have been stored before its turn got another name than its id.
      const isFree = name === undefined ? current === last : current?.isOpen === true;
      group = isFree ? current : undefined;
    }
    if (group === undefined) {
      group = { entries: [], isOpen: false };
      groups.push(group);
    }
    group.entries.push(entry);
    group.isOpen = name === undefined && roleOf(message) === "human";
    const known = name ?? (group.isOpen && message.id !== undefined ? turnNameOf(message.id) : undefined);
    if (known !== undefined) {
      byName.set(known, group);
    }
    current = group;
  }
  return { groups: groups.map(({ entries: own }) => own), withoutQuestion };
}

/** True for what begins a turn. */
function isInput(message: BaseMessage): boolean {
  const role = roleOf(message);
  return role === "human" || role === "system";
}

function isInputRecord(record: string): boolean {
  return record.startsWith('{"type":"human"') || record.startsWith('{"type":"system"');
}
