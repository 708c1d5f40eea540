import type { ContentPart, MessageToolCall, OpenAIMessage } from "./message.js";

/** A part of what the Responses API takes: a text, an image or a file. */
export type ResponsesInputPart =
  | {
      /** Marks text. */
      type: "input_text";
      /** The text. */
      text: string;
    }
  | {
      /** Marks an image. */
      type: "input_image";
      /** How closely the model looks at it. */
      detail: "auto" | "low" | "high";
      /** An `https` URL, or a data URL with the image itself. */
      image_url?: string;
      /** The id that the provider gave the file, in place of the URL. */
      file_id?: string;
    }
  | {
      /** Marks a file. */
      type: "input_file";
      /** The id that the provider gave the file. */
      file_id?: string;
      /** A data URL with the file itself. */
      file_data?: string;
      /** The file's name, with `file_data`. */
      filename?: string;
    };

/** A message in the input of the Responses API; the model's own are text. */
export interface ResponsesInputMessage {
  /** Marks a message. */
  type: "message";
  /** Who speaks. */
  role: "system" | "developer" | "user" | "assistant";
  /** Text or parts. */
  content: string | ResponsesInputPart[];
}

/** A call in the input of the Responses API. */
export type ResponsesInputCall =
  | {
      /** Marks a call with JSON arguments. */
      type: "function_call";
      /** The call's id, to which its output refers. */
      call_id: string;
      /** The tool's name. */
      name: string;
      /** JSON text, as the model wrote it. */
      arguments: string;
    }
  | {
      /** Marks a call with free-form text. */
      type: "custom_tool_call";
      /** The call's id, to which its output refers. */
      call_id: string;
      /** The tool's name. */
      name: string;
      /** The text, as the model wrote it. */
      input: string;
    };

/** The result of a call in the input of the Responses API. */
export interface ResponsesInputResult {
  /** Marks a result: `custom_tool_call_output` for a call with free-form text. */
  type: "function_call_output" | "custom_tool_call_output";
  /** The id of the call. */
  call_id: string;
  /** Text or parts. */
  output: string | ResponsesInputPart[];
}

/** An item of the input of OpenAI's Responses API, discriminated by `type`. */
export type ResponsesInputItem = ResponsesInputMessage | ResponsesInputCall | ResponsesInputResult;

/** The messages as items of the Responses API. */
export function responsesInput(messages: readonly OpenAIMessage[]): ResponsesInputItem[] {
  const customCalls = new Set<string>();
  return messages.flatMap((message) => itemsOf(message, customCalls));
}

function itemsOf(message: OpenAIMessage, customCalls: Set<string>): ResponsesInputItem[] {
  const { role, tool_call_id: callId = "", tool_calls: calls = [] } = message;
  const content = message.content ?? "";
  if (role === "tool") {
    const type = customCalls.has(callId) ? "custom_tool_call_output" : "function_call_output";
    return [{ type, call_id: callId, output: inputContent(content) }];
  }
  if (role !== "assistant") {
    return [{ type: "message", role, content: inputContent(content) }];
  }
  for (const { type, id } of calls) {
    // An id that is used again is that of the newest call.
    customCalls[type === "custom" ? "add" : "delete"](id);
  }
  const text = saidText(message);
  return [...(text === "" ? [] : [{ type: "message", role, content: text } as const]), ...calls.map(callItem)];
}

/** The words of the model: texts and refusals, and those of its audio, which this API knows by no id. */
function saidText({ content, refusal, audio }: OpenAIMessage): string {
  const parts = typeof content === "string" ? [content] : (content ?? []).map(wordsOf);
  return [...parts, refusal ?? "", audio?.transcript ?? ""].join("");
}

function wordsOf(part: ContentPart): string {
  return part.type === "text" ? part.text : part.type === "refusal" ? part.refusal : "";
}

function callItem(call: MessageToolCall): ResponsesInputCall {
  return call.type === "custom"
    ? { type: "custom_tool_call", call_id: call.id, name: call.custom.name, input: call.custom.input }
    : { type: "function_call", call_id: call.id, name: call.function.name, arguments: call.function.arguments };
}

function inputContent(content: string | readonly ContentPart[]): string | ResponsesInputPart[] {
  return typeof content === "string" ? content : content.map(inputPart);
}

function inputPart(part: ContentPart): ResponsesInputPart {
  switch (part.type) {
    case "image_url": {
      const { url, detail = "auto" } = part.image_url;
      return { type: "input_image", image_url: url, detail };
    }
    case "image_file": {
      const { file_id, detail = "auto" } = part.image_file;
      return { type: "input_image", file_id, detail };
    }
    case "file":
      return { type: "input_file", ...part.file };
    case "input_audio":
      return { type: "input_text", text: "(audio left out)" };
    default:
      return { type: "input_text", text: wordsOf(part) };
  }
}
