import { concat } from "@langchain/core/utils/stream";
import type { BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../messages/values.js";
import { agentMessages, joinMessages } from "./agent-chunks.js";

/** The output of a stream, made of its chunks. */
export class JoinedChunks<Output> {
  #sum: Output | undefined;
  #last: Output | undefined;
  #count = 0;
  /** True while each chunk holds all that the one before it held, as parsers of JSON give them. */
  #isGrowing = true;
  /** What an agent's stream adds to its messages; undefined where this is no agent's stream. */
  #added: BaseMessage[] | undefined = [];

  add(chunk: Output): void {
    const added = this.#added && agentMessages(chunk);
    if (added === undefined) {
      this.#added = undefined;
    } else {
      joinMessages(this.#added!, added);
    }
    this.#isGrowing &&= isRecord(chunk) && (this.#count === 0 || extendsValue(chunk, this.#last));
    this.#sum = this.#count === 0 ? chunk : joined(this.#sum as Output, chunk);
    this.#last = chunk;
    this.#count += 1;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Undefined before the first chunk. */
  get whole(): Output | undefined {
    if (this.#count > 0 && this.#added !== undefined) {
      return { messages: this.#added } as Output;
    }
    return this.#isGrowing ? this.#last : this.#sum;
  }
}

/** Chunks add up where they can; where they cannot (whole values in a row), the last one is the output. */
function joined<Output>(sum: Output, chunk: Output): Output {
  try {
    return concat(sum as never, chunk as never) as Output;
  } catch {
    return chunk;
  }
}

/** True for a value that begins with another one: a longer text, a list or an object with more in it. */
function extendsValue(value: unknown, earlier: unknown): boolean {
  if (typeof earlier === "string") {
    return typeof value === "string" && value.startsWith(earlier);
  }
  if (Array.isArray(earlier)) {
    return Array.isArray(value) && earlier.every((element, index) => extendsValue(value[index], element));
  }
  if (!isPlain(earlier)) {
    return typeof earlier !== "object" || earlier === null;
  }
  return isPlain(value) && Object.keys(earlier).every((key) => key in value && extendsValue(value[key], earlier[key]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
}
