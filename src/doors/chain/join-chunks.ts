import { concat } from "@langchain/core/utils/stream";
import type { BaseMessage } from "@langchain/core/messages";
import type { Runnable, RunnableConfig } from "@langchain/core/runnables";
import { isPlainObject } from "../../base/json.js";
import { fieldsOf, isRecord } from "../../conversation/messages/message.js";
import { isInTask, type PartialOutput } from "../../memory/turns/stop.js";

/** The chunks of a runnable's stream, and the output that they make. */
export interface ChunkReader<Output> {
  /** The stream that the runnable is to be asked for, where it is not the caller's. */
  readonly form: StreamForm;
  /** The output; undefined where the stream holds none. */
  readonly whole: Output | undefined;
  /** Calls the runnable for its output alone. */
  outputOf(runnable: Runnable, input: unknown, config: Partial<RunnableConfig>): Promise<Output>;
  /** Takes a chunk, and returns what the caller asked for. */
  read(chunk: Output): readonly Output[];
  /** The output up to a stop, with what a model has said. */
  upTo(said: PartialOutput): unknown;
}

/** How LangGraph is asked to stream, in the config of a call. */
export interface StreamForm {
  readonly streamMode?: unknown;
  readonly subgraphs?: unknown;
}

/** Reads the stream of a runnable, as the config asks for it. */
export function chunkReader<Output>(runnable: unknown, config: object): ChunkReader<Output> {
  const graph = fieldsOf(fieldsOf(runnable)["graph"] ?? runnable);
  return graph["lg_is_pregel"] === true ? new GraphChunks(graph["streamMode"], config) : new JoinedChunks();
}

/** A whole output as a chunk of such a stream. */
export function asChunk<Output>(output: Output, { streamMode, subgraphs }: StreamForm): Output {
  const inMode = Array.isArray(streamMode) ? ["values", output] : [output];
  const chunk = subgraphs === true ? [[], ...inMode] : inMode;
  return (chunk.length === 1 ? output : chunk) as Output;
}

/** LangGraph's mode of a stream that holds the state, and in the end the output. */
const outputMode = "values";
/** The mode of graphs that name none. */
const defaultMode = "updates";

/** A graph's stream, which is asked for the state in addition to the modes of the caller. */
class GraphChunks<Output> implements ChunkReader<Output> {
  readonly form: StreamForm;
  readonly #request: StreamForm;
  readonly #isHidden: boolean;
  #whole: Output | undefined;

  constructor(ownModes: unknown, request: StreamForm & Pick<RunnableConfig, "configurable">) {
    // A graph in a task of another one streams its state, unless it is asked for something else.
    const modes = [request.streamMode ?? (isInTask(request) ? outputMode : (ownModes ?? defaultMode))].flat();
    this.#request = request;
    this.#isHidden = !modes.includes(outputMode);
    this.form = { streamMode: this.#isHidden ? [...modes, outputMode] : modes };
  }

  get whole(): Output | undefined {
    return this.#whole;
  }

  read(chunk: Output): readonly Output[] {
    const { streamMode, subgraphs } = this.#request;
    const [place, mode, value] = (subgraphs === true ? chunk : [[], ...(chunk as unknown[])]) as [
      unknown[],
      ...unknown[],
    ];
    const isState = mode === outputMode;
    if (isState && place.length === 0) {
      // An interrupt is reported with the state, as in the output of `invoke`.
      this.#whole = ("__interrupt__" in fieldsOf(value) ? { ...this.#whole, ...(value as object) } : value) as Output;
    }
    if (isState && this.#isHidden) {
      return [];
    }
    return [Array.isArray(streamMode) ? chunk : ((subgraphs === true ? [place, value] : value) as Output)];
  }

  /** By its stream: where the graph fails, its state is known. */
  async outputOf(runnable: Runnable, input: unknown, config: Partial<RunnableConfig>): Promise<Output> {
    for await (const chunk of await runnable.stream(input, { ...config, ...this.form })) {
      this.read(chunk as Output);
    }
    return this.#whole as Output;
  }

  upTo({ last }: PartialOutput): unknown {
    const { messages = [] } = fieldsOf(this.#whole) as { readonly messages?: readonly BaseMessage[] };
    const isInState = last === undefined || messages.some(({ id }) => id === last.id);
    return isInState ? this.#whole : { messages: [...messages, last] };
  }
}

/** Joins the chunks of a stream into its output. */
class JoinedChunks<Output> implements ChunkReader<Output> {
  readonly form = {};
  #sum: Output | undefined;
  #last: Output | undefined;
  #count = 0;
  /** True while chunks are cumulative, as those of JSON parsers. */
  #isGrowing = true;

  read(chunk: Output): readonly Output[] {
    this.#isGrowing &&= isRecord(chunk) && (this.#count === 0 || extendsValue(chunk, this.#last));
    this.#sum = this.#count === 0 ? chunk : joined(this.#sum as Output, chunk);
    this.#last = chunk;
    this.#count += 1;
    return [chunk];
  }

  get whole(): Output | undefined {
    return this.#isGrowing ? this.#last : this.#sum;
  }

  outputOf(runnable: Runnable, input: unknown, config: Partial<RunnableConfig>): Promise<Output> {
    return runnable.invoke(input, config) as Promise<Output>;
  }

  upTo({ unfinished }: PartialOutput): unknown {
    return this.whole ?? unfinished;
  }
}

/** Concatenates chunks that support it; of others (whole values), the last is the output. */
function joined<Output>(sum: Output, chunk: Output): Output {
  try {
    return concat(sum as never, chunk as never) as Output;
  } catch {
    return chunk;
  }
}

/** True if `value` is `earlier` extended: a longer text, or a list or object with more in it. */
function extendsValue(value: unknown, earlier: unknown): boolean {
  if (typeof earlier === "string") {
    return typeof value === "string" && value.startsWith(earlier);
  }
  if (Array.isArray(earlier)) {
    return Array.isArray(value) && earlier.every((element, index) => extendsValue(value[index], element));
  }
  if (!isPlainObject(earlier)) {
    return typeof earlier !== "object" || earlier === null;
  }
  return (
    isPlainObject(value) && Object.keys(earlier).every((key) => key in value && extendsValue(value[key], earlier[key]))
  );
}
