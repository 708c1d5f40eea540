import type { AudioPart, FilePart, ImagePart, MessageToolCall, RefusalPart, TextPart } from "./message.js";

/** A message as OpenAI's API accepts it, discriminated by `role`. */
export type OpenAIRequestMessage =
  RequestInstruction | RequestUserMessage | RequestAssistantMessage | RequestToolMessage;

/** An instruction to the model. */
export interface RequestInstruction {
  /** Marks an instruction. */
  role: "system" | "developer";
  /** The instruction. */
  content: string | TextPart[];
  /** Distinguishes speakers with the same role. */
  name?: string;
}

/** A message of the user. */
export interface RequestUserMessage {
  /** Marks a message of the user. */
  role: "user";
  /** Text, or parts such as images and files. */
  content: string | (TextPart | ImagePart | FilePart | AudioPart)[];
  /** Distinguishes speakers with the same role. */
  name?: string;
}

/** A message of the model. */
export interface RequestAssistantMessage {
  /** Marks a message of the model. */
  role: "assistant";
  /** Text or parts. Optional where there are calls, a refusal or audio. */
  content?: string | (TextPart | RefusalPart)[] | null;
  /** Distinguishes speakers with the same role. */
  name?: string;
  /** The calls that the model made. */
  tool_calls?: MessageToolCall[];
  /** The text of the refusal. */
  refusal?: string | null;
  /** Audio that the model produced earlier. */
  audio?: {
    /** The id that the provider gave the audio. */
    id: string;
  } | null;
  /** The deprecated predecessor of `tool_calls`. */
  function_call?: {
    /** The tool's name. */
    name: string;
    /** JSON text, as the model wrote it. */
    arguments: string;
  } | null;
}

/** A tool result. */
export interface RequestToolMessage {
  /** Marks a tool result. */
  role: "tool";
  /** The result as text or parts. */
  content: string | TextPart[];
  /** The tool's name. */
  name?: string;
  /** The id of the call that this responds to. */
  tool_call_id: string;
}
