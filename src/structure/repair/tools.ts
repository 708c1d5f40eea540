import { ToolMessage } from "@langchain/core/messages";
import { type LinkedCall, showId } from "../../messages/calls.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { readStructure } from "../rules/find-issues.js";
import type { StructureContext, StructureRule } from "../rules/rules.js";
import { saysNothing } from "../../messages/content.js";
import { isSynthesized, mustHold, synthesizedKey, type Entry, type RepairSession } from "./session.js";

/** Leaves one result directly after each call and removes orphan results: rules S07 to S10, S12 and S30. Linear. */
export function repairTools(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return new ToolRepair(entries, session).run();
}

/** A result that moves to its call. */
interface PlacedResult {
  readonly place: number;
  readonly entry: Entry;
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
      return calls === undefined ? [entry] : this.#step({ entry, index, calls });
    });
  }

  #removeResults(): void {
    const { links, speakers } = this.#context;
    speakers.forEach((speaker, index) => {
      const call = links.callOf[index];
      if (speaker === "tool" && call === undefined && mustHold(this.#session, "S07")) {
        this.#remove(index, { rule: "S07", message: "Removed a tool result without a call." });
      }
      if (call !== undefined && mustHold(this.#session, "S12") && index !== this.#resultOf(call)) {
        this.#remove(index, { rule: "S12", message: "Removed a further result of a call." });
      }
    });
    for (const calls of links.callsAt.values()) {
      calls.forEach((call) => this.#claim(call));
    }
  }

  #remove(index: number, { rule, message }: { readonly rule: StructureRule; readonly message: string }): void {
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

  #step({
    entry,
    index,
    calls,
  }: {
    readonly entry: Entry;
    readonly index: number;
    readonly calls: readonly LinkedCall[];
  }): readonly Entry[] {
    const present = calls.flatMap((call) => this.#present(call)).sort((a, b) => a.position - b.position);
    const open = calls.filter(({ results }) => results.length === 0);
    const rule = this.#ruleOfOpenCalls({ index, open: open.length, all: calls.length });
    const missing = rule !== undefined && mustHold(this.#session, rule) ? open : [];
    if (missing.length > 0 && this.#session.choices.missingResults === "drop") {
      return [...this.#dropCalls({ entry, missing, rule: rule! }), ...this.#inOrder(present)];
    }
    const added = missing.map((call) => ({
      place: call.place,
      entry: this.#synthesize({ call, rule: rule!, caller: entry }),
    }));
    return [entry, ...this.#inOrder([...present, ...added])];
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
    return (results as (PlacedResult & { readonly position?: number })[]).flatMap(({ position, place, entry }) => {
      if (position === undefined) {
        return [];
      }
      const isLate = blockOf[position] !== callOf[position]!.index;
      const isBehind = byCall && place < newest;
      newest = Math.max(newest, place);
      return isLate || (isBehind && mustHold(this.#session, "S09")) ? [entry.index] : [];
    });
  }

  #ruleOfOpenCalls({
    index,
    open,
    all,
  }: Readonly<Record<"index" | "open" | "all", number>>): StructureRule | undefined {
    if (index === this.#context.links.frontier) {
      return this.#session.criteria.purpose === "history" ? undefined : "S30";
    }
    return open < all ? "S10" : "S08";
  }

  #dropCalls({
    entry,
    missing,
    rule,
  }: {
    readonly entry: Entry;
    readonly missing: readonly LinkedCall[];
    readonly rule: StructureRule;
  }): Entry[] {
    const places = new Set(missing.map(({ place }) => place));
    const message = editMessage(entry.message, { calls: (_, place) => (places.has(place) ? "remove" : undefined) });
    const isEmpty = saysNothing(message);
    const done = isEmpty ? "Removed a message whose calls have no results." : "Removed calls without results.";
    this.#session.repairs.push({ rule, index: entry.index, action: isEmpty ? "removed" : "changed", message: done });
    return isEmpty ? [] : [{ ...entry, message }];
  }

  /** Deterministic; calls that share an id are numbered. */
  #freeId(id: string): string {
    const nth = (this.#numbers.get(id) ?? 0) + 1;
    const numbered = nth === 1 ? id : `${id}-${nth}`;
    this.#numbers.set(id, nth);
    return this.#usedIds.has(numbered) ? this.#freeId(id) : numbered;
  }

  #synthesize({
    call,
    rule,
    caller,
  }: {
    readonly call: LinkedCall;
    readonly rule: StructureRule;
    readonly caller: Entry;
  }): Entry {
    const callId = call.id ?? "";
    const message = new ToolMessage({
      content: this.#session.choices.missingResultText,
      tool_call_id: callId,
      status: "error",
      id: this.#freeId(`synthesized-result-${callId}`),
      additional_kwargs: { [synthesizedKey]: true },
      ...(call.name === "" ? {} : { name: call.name }),
    });
    this.#session.repairs.push({
      rule,
      index: caller.index,
      action: "added",
      message: `Added a result for the call ${showId(call.id)}.`,
    });
    return { message, index: caller.index };
  }
}
