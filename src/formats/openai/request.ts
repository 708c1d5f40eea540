import type { AudioPart, FilePart, ImagePart, OpenAIMessage, RefusalPart, TextPart } from "./message.js";

/** A message as OpenAI's API accepts it, discriminated by `role`. */
export type OpenAIRequestMessage =
  RequestInstruction | RequestUserMessage | RequestAssistantMessage | RequestToolMessage;

/** An instruction to the model. */
export interface RequestInstruction extends Pick<OpenAIMessage, "name"> {
  /** Marks an instruction. */
  role: "system" | "developer";
  /** The instruction. */
  content: string | TextPart[];
}

/** A message of the user. */
export interface RequestUserMessage extends Pick<OpenAIMessage, "name"> {
  /** Marks a message of the user. */
  role: "user";
  /** Text, or parts such as images and files. */
  content: string | (TextPart | ImagePart | FilePart | AudioPart)[];
}

/** A message of the model. */
export interface RequestAssistantMessage extends Pick<
  OpenAIMessage,
  "name" | "tool_calls" | "refusal" | "function_call"
> {
  /** Marks a message of the model. */
  role: "assistant";
  /** Text or parts. Optional where there are calls, a refusal or audio. */
  content?: string | (TextPart | RefusalPart)[] | null;
  /** Audio that the model produced earlier. */
  audio?: {
    /** The id that the provider gave the audio. */
    id: string;
  } | null;
}

/** A tool result. */
export interface RequestToolMessage extends Pick<OpenAIMessage, "name"> {
  /** Marks a tool result. */
  role: "tool";
  /** The result as text or parts. */
  content: string | TextPart[];
  /** The id of the call that this responds to. */
  tool_call_id: string;
}
