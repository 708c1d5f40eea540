import type { AudioPart, FilePart, ImagePart, MessageToolCall, RefusalPart, TextPart } from "./openai-message.js";

/** A message as OpenAI's API accepts it, discriminated by `role`. */
export type OpenAIRequestMessage =
  RequestInstruction | RequestUserMessage | RequestAssistantMessage | RequestToolMessage;

/** An instruction to the model. */
export interface RequestInstruction {
  /** Marks an instruction. */
  role: "system" | "developer";
  /** What the model is told. */
  content: string | TextPart[];
  /** Tells speakers with the same role apart. */
  name?: string;
}

/** What a user said. */
export interface RequestUserMessage {
  /** Marks a message of the user. */
  role: "user";
  /** What the user said or sent. */
  content: string | (TextPart | ImagePart | FilePart | AudioPart)[];
  /** Tells speakers with the same role apart. */
  name?: string;
}

/** What the model said. */
export interface RequestAssistantMessage {
  /** Marks a message of the model. */
  role: "assistant";
  /** What the model said. May be left out beside calls, a refusal or audio. */
  content?: string | (TextPart | RefusalPart)[] | null;
  /** Tells speakers with the same role apart. */
  name?: string;
  /** The calls that the model made. */
  tool_calls?: MessageToolCall[];
  /** What the model said when it refused. */
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

/** What a tool returned. */
export interface RequestToolMessage {
  /** Marks what a tool returned. */
  role: "tool";
  /** What the tool returned. */
  content: string | TextPart[];
  /** The tool's name. */
  name?: string;
  /** The id of the call that this responds to. */
  tool_call_id: string;
}
