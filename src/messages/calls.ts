import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { speakerOf } from "./roles.js";
import { isRecord, recordsIn, stringIn } from "./values.js";

/** A call that a message makes. `readable` is false if its arguments are not an object. */
export interface Call {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly readable: boolean;
}

const noCalls: readonly Call[] = [];

type CallLists = Partial<Pick<AIMessage, "tool_calls" | "invalid_tool_calls">>;

/** The calls that a message makes, those with unreadable arguments last; none if the model does not speak in it. */
export function callsOf(message: BaseMessage): readonly Call[] {
  if (speakerOf(message) !== "assistant") {
    return noCalls;
  }
  const { tool_calls, invalid_tool_calls } = message as CallLists;
  const [calls, invalid] = [recordsIn(tool_calls), recordsIn(invalid_tool_calls)];
  if (calls.length === 0 && invalid.length === 0) {
    return noCalls;
  }
  return [
    ...calls.map(({ id, name, args }) => toCall({ id, name, args }, isRecord(args))),
    ...invalid.map(({ id, name, args }) => toCall({ id, name, args }, false)),
  ];
}

function toCall({ id, name, args }: Record<"id" | "name" | "args", unknown>, readable: boolean): Call {
  return { id: stringIn(id), name: stringIn(name) ?? "", args, readable };
}

/** The ids of the calls that {@link callsOf} gives, in the same order; calls without an id are left out. */
export function callIdsOf(message: BaseMessage): string[] {
  if (!mayCall(message) || speakerOf(message) !== "assistant") {
    return [];
  }
  const { tool_calls, invalid_tool_calls } = message as CallLists;
  const ids: string[] = [];
  for (const list of [tool_calls, invalid_tool_calls]) {
    for (const { id } of recordsIn<{ readonly id?: unknown }>(list)) {
      if (typeof id === "string") {
        ids.push(id);
      }
    }
  }
  return ids;
}

/** False if the message makes no calls. Reads two fields only, which is faster than finding out who speaks. */
export function mayCall(message: BaseMessage): boolean {
  const { tool_calls, invalid_tool_calls } = message as CallLists;
  return (tool_calls?.length ?? 0) > 0 || (invalid_tool_calls?.length ?? 0) > 0;
}

/** The id of the call that a tool message answers; undefined for a message without one. */
export function answeredId(message: BaseMessage): string | undefined {
  return stringIn((message as Partial<ToolMessage>).tool_call_id);
}

/** A call id as error texts show it: quoted, and cut if it is long. */
export function showId(id: string | undefined): string {
  return id === undefined || id === ""
    ? "without an id"
    : JSON.stringify(id.length > 64 ? `${id.slice(0, 60)}...` : id);
}
