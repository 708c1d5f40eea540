/** The role of a message in OpenAI's chat format. */
export type MessageRole = "system" | "developer" | "user" | "assistant" | "tool";

/** A part of a message's content. Additional fields of a part, such as `cache_control`, are kept. */
export type ContentPart = TextPart | ImagePart | ImageFilePart | FilePart | AudioPart | RefusalPart;

/** Text. */
export interface TextPart {
  type: "text";
  text: string;
}

/** An image by URL or data URL. */
export interface ImagePart {
  type: "image_url";
  image_url: { url: string; detail?: "auto" | "low" | "high" };
}

/** An image by the id of an uploaded file. */
export interface ImageFilePart {
  type: "image_file";
  image_file: { file_id: string; detail?: "auto" | "low" | "high" };
}

/** A file: by the id of an uploaded file, or by its data (a data URL) and name. */
export interface FilePart {
  type: "file";
  file: { file_id?: string; file_data?: string; filename?: string };
}

/** Audio, base64 encoded. */
export interface AudioPart {
  type: "input_audio";
  input_audio: { data: string; format: "wav" | "mp3" };
}

/** What the model said when it refused. */
export interface RefusalPart {
  type: "refusal";
  refusal: string;
}

/** A call that a model made; `arguments` is JSON text as the model wrote it, which may be invalid. */
export interface FunctionToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A call of a tool that takes free-form text. */
export interface CustomToolCall {
  id: string;
  type: "custom";
  custom: { name: string; input: string };
}

/** A tool call of either kind. */
export type MessageToolCall = FunctionToolCall | CustomToolCall;

/**
 * A message of a {@link MessageHistory}: OpenAI's fields, and `metadata`, `timestamp` and `langchain`, which are never
 * sent to a model. Fields that are not listed here are kept as well.
 */
export interface OpenAIMessage {
  role: MessageRole;
  /**
   * Absent (or null, as in OpenAI's answers) only in assistant messages that say something else: calls, a refusal,
   * audio, reasoning.
   */
  content?: string | ContentPart[] | null;
  name?: string;
  tool_calls?: MessageToolCall[];
  /** Tool messages only: the id of the call that this responds to. */
  tool_call_id?: string;
  refusal?: string | null;
  /** Audio that the model produced. */
  audio?: { id: string; data?: string; expires_at?: number; transcript?: string } | null;
  /** The deprecated predecessor of `tool_calls`. */
  function_call?: { name: string; arguments: string } | null;
  /** Reasoning that some providers return. Kept, but not part of `toOpenAIFormat()`: the API refuses it as input. */
  reasoning_content?: string | null;
  /** Citations that the model returned. Kept, but not part of `toOpenAIFormat()`: the API refuses them as input. */
  annotations?: object[];
  metadata?: Record<string, unknown>;
  /** ISO 8601, as it was given. */
  timestamp?: string;
  /** What this format cannot express of a LangChain message (id, usage, response metadata, artifact, other blocks). */
  langchain?: Record<string, unknown>;
}

/** What a message may have besides its content. */
export interface MessageNotes {
  /** Tells speakers with the same role apart. */
  readonly name?: string;
  /** JSON data of your own; never sent to a model. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** ISO 8601, with or without a zone; kept as given. @default now, in UTC */
  readonly timestamp?: string;
}

/** A message as OpenAI's API accepts it, discriminated by `role`. */
export type OpenAIRequestMessage =
  RequestInstruction | RequestUserMessage | RequestAssistantMessage | RequestToolMessage;

/** An instruction to the model. */
export interface RequestInstruction {
  role: "system" | "developer";
  content: string | TextPart[];
  name?: string;
}

/** What a user said. */
export interface RequestUserMessage {
  role: "user";
  content: string | (TextPart | ImagePart | FilePart | AudioPart)[];
  name?: string;
}

/** What the model said. */
export interface RequestAssistantMessage {
  role: "assistant";
  content?: string | (TextPart | RefusalPart)[] | null;
  name?: string;
  tool_calls?: MessageToolCall[];
  refusal?: string | null;
  audio?: { id: string } | null;
  function_call?: { name: string; arguments: string } | null;
}

/** What a tool returned. */
export interface RequestToolMessage {
  role: "tool";
  content: string | TextPart[];
  name?: string;
  tool_call_id: string;
}
