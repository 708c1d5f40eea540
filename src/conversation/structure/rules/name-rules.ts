import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { changeMessage } from "../../messages/change-message.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { speakerOf } from "../../messages/roles.js";
import { isRecord, valueIn } from "../../messages/values.js";
import type { MessageRule } from "./rules.js";
import { fitsForm } from "../profiles/identifiers.js";
import type { NameForm } from "../profiles/profile.js";

/** Fallback for a tool without a name. */
const unnamedTool = "unknown_tool";

/** S19: the arguments of a call are an object. */
export const readableCalls: MessageRule = {
  rule: "S19",
  problem: "The arguments of a tool call are not an object.",
  repair(message) {
    const changed = editMessage(message, {
      calls: ({ readable, args, name }) => (readable ? undefined : { name: name || unnamedTool, args: objectOf(args) }),
    });
    return changed === message
      ? undefined
      : { message: changed, done: "Wrapped the arguments of a tool call in an object." };
  },
};

/** The arguments as an object: parsed JSON, else the raw value wrapped in one. */
function objectOf(args: unknown): Record<string, unknown> {
  if (args === undefined || args === null || args === "") {
    return {};
  }
  if (typeof args !== "string") {
    return { value: args };
  }
  const parsed = valueIn(args);
  if (parsed === undefined) {
    return { INVALID_JSON: args };
  }
  return isRecord(parsed) ? parsed : { value: parsed };
}

/** S20: a tool result names the tool that was called. */
export const namedResults: MessageRule = {
  rule: "S20",
  problem: "The tool result does not name the tool that was called.",
  repair(message, { context, index }) {
    const name = context.links.callOf[index]?.name || message.name || unnamedTool;
    return speakerOf(message) !== "tool" || message.name === name
      ? undefined
      : { message: changeMessage(message, { name }), done: "Named the tool." };
  },
};

/** S26: names have the form that the provider accepts. */
export const wellFormedNames: MessageRule = {
  rule: "S26",
  problem: "A speaker or a tool has a name with characters or a length that the provider rejects.",
  repair(message, { context }) {
    const form = context.profile.names;
    const changed = form === undefined ? message : renameSpeaker(renameTools(message, form), form);
    return changed === message
      ? undefined
      : { message: changed, done: "Changed a name to the form that the provider accepts." };
  },
};

function renameTools(message: BaseMessage, form: NameForm): BaseMessage {
  return editMessage(message, {
    calls: ({ name }) => (fits(name, form) ? undefined : { name: fit(name, form) || unnamedTool }),
  });
}

function renameSpeaker(message: BaseMessage, form: NameForm): BaseMessage {
  if (message.name === undefined || message.name === null || fits(message.name, form)) {
    return message;
  }
  const name = fit(String(message.name), form) || (speakerOf(message) === "tool" ? unnamedTool : undefined);
  return changeMessage(message, { name });
}

function fits(name: unknown, form: NameForm): boolean {
  return typeof name === "string" && fitsForm(name, { ...form, minLength: 1 });
}

/** Replaces each rejected character by an underscore, and truncates. */
function fit(name: string, { characters, maxLength }: NameForm): string {
  return Array.from(name.slice(0, maxLength), (character) => (characters.includes(character) ? character : "_")).join(
    "",
  );
}

/** S31: the provider knows every role. */
export const knownRoles: MessageRule = {
  rule: "S31",
  problem: "The provider does not know the role of the message.",
  repair(message) {
    if ((message.getType() as string) !== "generic" && speakerOf(message) !== "other") {
      return undefined;
    }
    return message.getType() === "remove"
      ? { done: "Removed a message of an unknown role." }
      : { message: typed(message), done: "Gave the message a role that the provider knows." };
  },
};

/** The message as the LangChain class of its role, else as a `HumanMessage`. */
function typed(message: BaseMessage): BaseMessage {
  const speaker = speakerOf(message);
  const { content, name, id, additional_kwargs, response_metadata } = message;
  const Type = speaker === "assistant" ? AIMessage : speaker === "system" ? SystemMessage : HumanMessage;
  return new Type({ content, name, id, additional_kwargs, response_metadata } as never);
}
