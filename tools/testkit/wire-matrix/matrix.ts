import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { repairConversation, type RepairOptions, toModel } from "../../../src/entries/structure.js";
import { captureWire } from "../../../testing/wire/capture-wire.js";
import { checkWire } from "../../../testing/wire/check-wire.js";
import { type Source, sources, type Target, targets } from "./adapters.js";
import { makeConversation } from "./conversations.js";
import { type Operation, operations } from "./operations.js";
import { partsOfCells } from "./parts.js";

/**
 * How messages are made ready: with the default profile, with the target's named, by `toModel` for the target's model,
 * or by `toModel` for a function that hides it.
 */
export const arms = ["default", "named", "toModel", "hidden"] as const;

/** One of {@link arms}. */
export type Arm = (typeof arms)[number];

/** A cell whose requests are not all valid, with the first cause. */
export interface FailingCell {
  readonly arm: Arm;
  readonly source: string;
  readonly target: string;
  readonly operation: string;
  readonly cause: string;
}

/** The result of the matrix. */
export interface MatrixReport {
  /** The cells that were played, see {@link matrixCell}. */
  readonly played: readonly string[];
  readonly failing: readonly FailingCell[];
}

/** Options of {@link runMatrix}. */
export interface MatrixOptions {
  /** Conversations a cell. */
  readonly conversations: number;
  /**
   * Parts of the cells, numbered from 0 to 11. Together they are all.
   *
   * @default all cells
   */
  readonly parts?: readonly number[] | undefined;
  /** @default {@link arms} */
  readonly arms?: readonly Arm[] | undefined;
}

/** The name of a cell. */
export function matrixCell({ arm, source, target, operation }: Omit<FailingCell, "cause">): string {
  return [arm, `${source} > ${target}`, operation].join("/");
}

/** A function that calls a model, as a memory sees it. */
export const hiddenModel = new RunnableLambda({ func: () => "" });

/** The tool that the conversations call. */
export const tool = {
  type: "function",
  function: {
    name: "lookup",
    description: "Looks something up.",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"] },
  },
};

/** Sends the answers of every source, changed by every operation, to every target. The same seeds, the same report. */
export async function runMatrix({ conversations, parts, arms: played = arms }: MatrixOptions): Promise<MatrixReport> {
  const failing: FailingCell[] = [];
  const cells: string[] = [];
  const all = targets();
  for (const [row, source] of sources().entries()) {
    for (const [column, operation] of operations.entries()) {
      const lists = await changedLists(source, { operation, conversations });
      const isPlayed = (place: number) => parts?.includes((row + column + place) % partsOfCells) ?? true;
      for (const { arm, target } of armsAndTargets(all, isPlayed)) {
        if (!played.includes(arm)) {
          continue;
        }
        const cell = { arm, source: source.name, target: target.name, operation: operation.name };
        const given = arm === "hidden" && !isOwn(source, target) ? lists.map(withoutOpenTurn) : lists;
        const cause = await causeOf(given, { arm, target });
        cells.push(matrixCell(cell));
        if (cause !== undefined) {
          failing.push({ ...cell, cause });
        }
      }
    }
  }
  return { played: cells, failing };
}

/** True for an adapter that gets its own answers. */
function isOwn(source: Source, target: Target): boolean {
  return source.name.replace(/-v1$/, "") === target.name;
}

/** Up to the newest question: the answers behind it come from the model that is called. */
function withoutOpenTurn(messages: BaseMessage[]): BaseMessage[] {
  return messages.slice(0, messages.findLastIndex((message) => message.getType() === "human") + 1);
}

function armsAndTargets(
  all: readonly Target[],
  isPlayed: (place: number) => boolean,
): readonly { readonly arm: Arm; readonly target: Target }[] {
  return arms.flatMap((arm, row) =>
    all.filter((_, column) => isPlayed(row + column)).map((target) => ({ arm, target })),
  );
}

async function changedLists(
  source: Source,
  { operation, conversations }: { readonly operation: Operation; readonly conversations: number },
): Promise<BaseMessage[][]> {
  const lists: BaseMessage[][] = [];
  for (let seed = 1; seed <= conversations; seed += 1) {
    const messages = await makeConversation(source, { seed, oddIds: operation.oddIds === true });
    lists.push(await operation.apply(messages));
  }
  return lists;
}

interface Cell {
  readonly arm: Arm;
  readonly target: Target;
}

/** The first thing that is wrong with the requests of a cell. */
async function causeOf(lists: readonly BaseMessage[][], { arm, target }: Cell): Promise<string | undefined> {
  const options: RepairOptions = {
    ...(arm === "named" && {
      profile: target.profile,
      hasTools: true,
      storesReasoning: target.name !== "responses-zdr",
    }),
    purpose: "model-input",
  };
  const model = arm === "hidden" ? hiddenModel : target.model;
  const forModel = async (list: readonly BaseMessage[]) => toModel(list, { model, tools: [tool] });
  for (const list of lists) {
    const ready = arm === "default" || arm === "named" ? repairConversation(list, options) : await forModel(list);
    const cause = await send(ready.messages, target);
    if (cause !== undefined) {
      return cause;
    }
  }
  return undefined;
}

async function send(messages: readonly BaseMessage[], { model, memory }: Target): Promise<string | undefined> {
  try {
    const wire = await captureWire(model, messages, { tools: [tool] });
    const [violation] = checkWire(wire.kind, wire.body, { model: wire.model, memory });
    return violation?.rule;
  } catch (error) {
    const { message } = error as Error;
    return `throws: ${message.split(/[\n.:{"]/)[0]!.slice(0, 60)}`;
  }
}
