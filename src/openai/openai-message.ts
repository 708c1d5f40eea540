/** Who speaks, in the words of OpenAI's chat format. */
export type MessageRole = "system" | "developer" | "user" | "assistant" | "tool";

/** A part of a message's content. Further fields of a part, such as `cache_control`, are kept. */
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

/** A file: by the id of an uploaded file, or its data (a data URL) with its name. */
export interface FilePart {
  type: "file";
  file: { file_id?: string; file_data?: string; filename?: string };
}

/** Sound, base64 encoded. */
export interface AudioPart {
  type: "input_audio";
  input_audio: { data: string; format: "wav" | "mp3" };
}

/** The model's words where it refused. */
export interface RefusalPart {
  type: "refusal";
  refusal: string;
}

/** A call that a model made; `arguments` is the JSON text as the model wrote it, which may be broken. */
export interface FunctionToolCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

/** A call of a tool that takes free text. */
export interface CustomToolCall {
  id: string;
  type: "custom";
  custom: { name: string; input: string };
}

/** A tool call of either kind. */
export type MessageToolCall = FunctionToolCall | CustomToolCall;

/**
 * A message of a {@link MessageHistory}: OpenAI's fields, and `metadata`, `timestamp` (ISO 8601, UTC) and `langchain`,
 * which no model is sent. Fields that are not named here are kept as well.
 */
export interface OpenAIMessage {
  role: MessageRole;
  /**
   * Absent (or null, as OpenAI answers) only in assistant messages that say something otherwise: calls, a refusal,
   * audio, reasoning.
   */
  content?: string | ContentPart[] | null;
  name?: string;
  tool_calls?: MessageToolCall[];
  /** Tool messages only: the id of the call that this answers. */
  tool_call_id?: string;
  refusal?: string | null;
  /** Sound that the model spoke. */
  audio?: { id: string; data?: string; expires_at?: number; transcript?: string } | null;
  /** What came before `tool_calls`. */
  function_call?: { name: string; arguments: string } | null;
  /** The reasoning that some providers with this format send, and want back. */
  reasoning_content?: string | null;
  annotations?: object[];
  metadata?: Record<string, unknown>;
  timestamp?: string;
  /**
   * What a LangChain message said beyond this format (id, usage, response metadata, artifact, other content blocks).
   */
  langchain?: Record<string, unknown>;
}

/** What a message may have beside its content. */
export interface MessageNotes {
  /** Who of several with the same role speaks. */
  readonly name?: string;
  /** JSON data of your own; no model is sent it. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** ISO 8601 with its zone, kept in UTC. @default now */
  readonly timestamp?: string;
}

/** A message as OpenAI's API takes it, told apart by `role`. */
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
