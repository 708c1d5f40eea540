/** The role of a message in OpenAI's chat format. */
export type MessageRole = "system" | "developer" | "user" | "assistant" | "tool";

/** A part of a message's content. Additional fields of a part, such as `cache_control`, are kept. */
export type ContentPart = TextPart | ImagePart | ImageFilePart | FilePart | AudioPart | RefusalPart;

/** Text. */
export interface TextPart {
  /** Marks text. */
  type: "text";
  /** The text; may be empty. */
  text: string;
}

/** An image by URL or data URL. */
export interface ImagePart {
  /** Marks an image by URL. */
  type: "image_url";
  /** The image's address, and the detail at which the model sees it. */
  image_url: {
    /** An `https` URL, or a data URL with the image itself. */
    url: string;
    /** How closely the model looks at it. @default the provider's, `auto` at OpenAI */
    detail?: "auto" | "low" | "high";
  };
}

/** An image by the id of an uploaded file. */
export interface ImageFilePart {
  /** Marks an image by file id. */
  type: "image_file";
  /** Which image, and how closely the model looks. */
  image_file: {
    /** The id that the provider gave the file. */
    file_id: string;
    /** How closely the model looks at it. @default the provider's, `auto` at OpenAI */
    detail?: "auto" | "low" | "high";
  };
}

/** A file: by the id of an uploaded file, or by its data (a data URL) and name. */
export interface FilePart {
  /** Marks a file. */
  type: "file";
  /** The file, by `file_id` or by `file_data` and `filename`. */
  file: {
    /** The id that the provider gave the file. */
    file_id?: string;
    /** A data URL with the file itself. */
    file_data?: string;
    /** The file's name, with `file_data`. */
    filename?: string;
  };
}

/** Audio, base64 encoded. */
export interface AudioPart {
  /** Marks audio. */
  type: "input_audio";
  /** The audio and its format. */
  input_audio: {
    /** The bytes in base64. */
    data: string;
    /** How the bytes are encoded. */
    format: "wav" | "mp3";
  };
}

/** The text of a refusal. */
export interface RefusalPart {
  /** Marks a refusal. */
  type: "refusal";
  /** The model's reason. */
  refusal: string;
}

/** A call that a model made; `arguments` is JSON text as the model wrote it, which may be invalid. */
export interface FunctionToolCall {
  /** The call's id, to which the tool message refers. */
  id: string;
  /** Marks a call with JSON arguments. */
  type: "function";
  /** Which tool is called, and with what. */
  function: {
    /** The tool's name. */
    name: string;
    /** JSON text, as the model wrote it. */
    arguments: string;
  };
}

/** A call of a tool that takes free-form text. */
export interface CustomToolCall {
  /** The call's id, to which the tool message refers. */
  id: string;
  /** Marks a call with free-form text. */
  type: "custom";
  /** Which tool is called, and with what. */
  custom: {
    /** The tool's name. */
    name: string;
    /** The text, as the model wrote it. */
    input: string;
  };
}

/** A tool call of either kind. */
export type MessageToolCall = FunctionToolCall | CustomToolCall;

/**
 * A message of a {@link MessageHistory}: OpenAI's fields, and `metadata`, `timestamp` and `langchain`, which are never
 * sent to a model. Fields that are not listed here are kept as well.
 */
export interface OpenAIMessage {
  /** Who speaks. */
  role: MessageRole;
  /**
   * Absent (or null, as in OpenAI's answers) only in assistant messages that say something else: calls, a refusal,
   * audio, reasoning.
   */
  content?: string | ContentPart[] | null;
  /** Distinguishes speakers with the same role. */
  name?: string;
  /** Assistant messages only: the calls that the model made. */
  tool_calls?: MessageToolCall[];
  /** Tool messages only: the id of the call that this responds to. */
  tool_call_id?: string;
  /** Assistant messages only: what the model said when it refused. */
  refusal?: string | null;
  /** Audio that the model produced. */
  audio?: {
    /** The id that the provider gave the audio. */
    id: string;
    /** The bytes in base64. */
    data?: string;
    /** When the provider forgets it, in seconds since 1970. */
    expires_at?: number;
    /** The spoken text. */
    transcript?: string;
  } | null;
  /** The deprecated predecessor of `tool_calls`. */
  function_call?: {
    /** The tool's name. */
    name: string;
    /** JSON text, as the model wrote it. */
    arguments: string;
  } | null;
  /** Reasoning that some providers return. Kept, but not part of `toOpenAIFormat()`: the API refuses it as input. */
  reasoning_content?: string | null;
  /** Citations that the model returned. Kept, but not part of `toOpenAIFormat()`: the API refuses them as input. */
  annotations?: object[];
  /** JSON data of your own; never sent to a model. */
  metadata?: Record<string, unknown>;
  /** ISO 8601, as it was given. */
  timestamp?: string;
  /** Fields of a LangChain message that this format lacks (id, usage, response metadata, artifact, other blocks). */
  langchain?: Record<string, unknown>;
}

/** Optional fields of a message. */
export interface MessageNotes {
  /** Distinguishes speakers with the same role. */
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
