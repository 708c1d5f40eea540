import { ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { type LinkedCall, showId } from "../../messages/calls.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { readStructure } from "../rules/find-issues.js";
import type { StructureContext, StructureRule } from "../rules/rules.js";
import { saysNothing } from "../../messages/content.js";
import { recordsIn } from "../../messages/values.js";
import { isSynthesized, mustHold, synthesizedKey, type Entry, type RepairSession } from "./session.js";

/** Leaves one result directly after each call and removes orphan results: rules S07 to S10, S12 and S30. Linear. */
export function repairTools(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return new ToolRepair(entries, session).run();
}

const unreadText = "No result: the arguments of the call could not be read, so it was not run.";

/** A result behind its call. */
interface PlacedResult {
  /** Index of its call among the calls of the message. */
  readonly place: number;
  readonly entry: Entry;
  /** Index of a result that was there before; undefined for an added one. */
  readonly position?: number;
}

/** Calls of a message that break a rule because they have no results. */
interface OpenCalls {
  readonly caller: Entry;
  readonly calls: readonly LinkedCall[];
  readonly rule: StructureRule;
}

class ToolRepair {
  readonly #entries: readonly Entry[];
  readonly #session: RepairSession;
  readonly #context: StructureContext;
  /** Results that leave their place: removed, or moved to their call. */
  readonly #taken = new Set<number>();
  readonly #usedIds: ReadonlySet<string | undefined>;
  readonly #numbers = new Map<string, number>();

  constructor(entries: readonly Entry[], session: RepairSession) {
    this.#entries = entries;
    this.#session = session;
    this.#usedIds = new Set(entries.map(({ message }) => message.id));
    this.#context = readStructure(
      entries.map(({ message }) => message),
      session.criteria,
    );
  }

  run(): readonly Entry[] {
    this.#removeResults();
    return this.#entries.flatMap((entry, index) => {
      if (this.#taken.has(index)) {
        return [];
      }
      const calls = this.#context.links.callsAt.get(index);
      return calls === undefined ? [entry] : this.#step(entry, index, calls);
    });
  }

  #removeResults(): void {
    const { links, speakers } = this.#context;
    speakers.forEach((speaker, index) => {
      const call = links.callOf[index];
      if (speaker === "tool" && call === undefined && mustHold(this.#session, "S07")) {
        this.#remove(index, "S07", "Removed a tool result without a call.");
      }
      if (call !== undefined && mustHold(this.#session, "S12") && index !== this.#resultOf(call)) {
        this.#remove(index, "S12", "Removed a further result of a call.");
      }
    });
    for (const calls of links.callsAt.values()) {
      calls.forEach((call) => this.#claim(call));
    }
  }

  #remove(index: number, rule: StructureRule, message: string): void {
    this.#taken.add(index);
    this.#session.repairs.push({ rule, index: this.#entries[index]!.index, action: "removed", message });
  }

  /** The first of several results, synthesized ones last. */
  #resultOf({ results }: LinkedCall): number | undefined {
    return results.find((index) => !isSynthesized(this.#entries[index]!.message)) ?? results[0];
  }

  /** Takes a call's result from its place if it has to move behind the call. */
  #claim(call: LinkedCall): void {
    const result = this.#resultOf(call);
    const isImmediate = result !== undefined && this.#context.links.blockOf[result] === call.index;
    if (result !== undefined && (isImmediate || mustHold(this.#session, "S09"))) {
      this.#taken.add(result);
    }
  }

  #step(caller: Entry, index: number, calls: readonly LinkedCall[]): readonly Entry[] {
    const present = calls.flatMap((call) => this.#present(call)).sort((a, b) => a.position - b.position);
    const open = calls.filter(({ results }) => results.length === 0);
    const rule = this.#ruleOfOpenCalls(index, open.length === calls.length);
    if (open.length === 0 || rule === undefined || !mustHold(this.#session, rule)) {
      return [caller, ...this.#inOrder(present)];
    }
    const missing = { caller, calls: open, rule };
    return this.#session.choices.missingResults === "drop"
      ? [...this.#withoutCalls(missing), ...this.#inOrder(present)]
      : [caller, ...this.#inOrder([...present, ...this.#added(missing)])];
  }

  #present(call: LinkedCall): (PlacedResult & { readonly position: number })[] {
    const result = this.#resultOf(call);
    return result !== undefined && this.#taken.has(result)
      ? [{ place: call.place, entry: this.#entries[result]!, position: result }]
      : [];
  }

  /**
   * Orders results as before, synthesized ones last, or by their calls if the provider requires it. Reports each move.
   */
  #inOrder(results: readonly PlacedResult[]): readonly Entry[] {
    const byCall = mustHold(this.#session, "S09") && this.#session.criteria.profile.resultOrder === "calls";
    const ordered = byCall ? [...results].sort((a, b) => a.place - b.place) : results;
    const moved = this.#movedIndexes(results);
    moved.forEach((index) =>
      this.#session.repairs.push({
        rule: "S09",
        index,
        action: "moved",
        message: "Moved a tool result directly after its call.",
      }),
    );
    return ordered.map(({ entry }) => entry);
  }

  #movedIndexes(results: readonly PlacedResult[]): number[] {
    const { blockOf, callOf } = this.#context.links;
    const byCall = this.#session.criteria.profile.resultOrder === "calls";
    let newest = -1;
    return results.flatMap(({ position, place, entry }) => {
      if (position === undefined) {
        return [];
      }
      const isLate = blockOf[position] !== callOf[position]!.index;
      const isBehind = byCall && place < newest;
      newest = Math.max(newest, place);
      return isLate || (isBehind && mustHold(this.#session, "S09")) ? [entry.index] : [];
    });
  }

  #ruleOfOpenCalls(index: number, areAllOpen: boolean): StructureRule | undefined {
    if (index === this.#context.links.frontier) {
      return this.#session.criteria.purpose === "history" ? undefined : "S30";
    }
    return areAllOpen ? "S08" : "S10";
  }

  #withoutCalls({ caller, calls, rule }: OpenCalls): readonly Entry[] {
    const places = new Set(calls.map(({ place }) => place));
    const message = editMessage(caller.message, { calls: (_, place) => (places.has(place) ? "remove" : undefined) });
    const isEmpty = saysNothing(message);
    const done = isEmpty ? "Removed a message whose calls have no results." : "Removed calls without results.";
    this.#session.repairs.push({ rule, index: caller.index, action: isEmpty ? "removed" : "changed", message: done });
    return isEmpty ? [] : [{ ...caller, message }];
  }

  /** Deterministic; calls that share an id are numbered. */
  #freeId(id: string): string {
    const nth = (this.#numbers.get(id) ?? 0) + 1;
    const numbered = nth === 1 ? id : `${id}-${nth}`;
    this.#numbers.set(id, nth);
    return this.#usedIds.has(numbered) ? this.#freeId(id) : numbered;
  }

  #added({ caller: { index }, calls, rule }: OpenCalls): readonly PlacedResult[] {
    const unread = idsNotRun(this.#session.given[index]!);
    return calls.map(({ id, name, place }) => {
      const message = new ToolMessage({
        content: unread.has(id ?? "") ? unreadText : this.#session.choices.missingResultText,
        tool_call_id: id ?? "",
        status: "error",
        id: this.#freeId(`synthesized-result-${id ?? ""}`),
        additional_kwargs: { [synthesizedKey]: true },
        ...(name !== "" && { name }),
      });
      const done = `Added a result for the call ${showId(id)}.`;
      this.#session.repairs.push({ rule, index, action: "added", message: done });
      return { place, entry: { message, index } };
    });
  }
}

/** Ids of the calls that no runtime runs, because their arguments are invalid; none that a valid call has too. */
function idsNotRun(message: BaseMessage): ReadonlySet<string> {
  const { tool_calls, invalid_tool_calls } = message as Partial<AIMessage>;
  const ids = new Set(recordsIn(invalid_tool_calls).map(({ id }) => id ?? ""));
  recordsIn(tool_calls).forEach(({ id }) => ids.delete(id ?? ""));
  return ids;
}
