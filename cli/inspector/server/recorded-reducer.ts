import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../../../src/conversation/messages/message.js";
import { ChatHistoryReducer } from "../../../src/conversation/reducers/chat-history-reducer.js";
import type { Cut } from "../model/timeline.js";

/** A message of the transcript, and its place in the log. */
export interface PlacedMessage {
  readonly message: BaseMessage;
  readonly position: number;
}

/** The recorded reductions of a session. */
export interface Recording {
  /** Every message that can be read, oldest first. */
  readonly transcript: readonly PlacedMessage[];
  readonly cuts: readonly Cut[];
  /** The messages in front of the view now: those of the last cut. */
  readonly head: readonly BaseMessage[];
}

/**
 * Cuts where the session was cut, so that a simulation says what the session cost as it is. The head of an
 * earlier cut is not kept; system messages are taken for it.
 */
export class RecordedReducer extends ChatHistoryReducer {
  readonly #recording: Recording;
  readonly #indexes: ReadonlyMap<BaseMessage, number>;
  #done = 0;

  constructor(recording: Recording) {
    super();
    this.#recording = recording;
    this.#indexes = new Map(recording.transcript.map(({ message }, index) => [message, index]));
  }

  static override lc_name(): string {
    return "RecordedReducer";
  }

  /** The view is looked at only from the message on at which the next cut was made. */
  override get viewLimit(): { readonly messages: number } {
    const next = this.#recording.cuts[this.#done];
    if (next === undefined) {
      return { messages: Infinity };
    }
    const front = this.#front(this.#done - 1).length;
    return { messages: front + this.#indexOf(next.next) - this.#startOf(this.#done - 1) - 1 };
  }

  override reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    const { cuts, transcript } = this.#recording;
    const last = this.#indexes.get(messages.at(-1)!) ?? -1;
    const end = (transcript[last]?.position ?? -1) + 1;
    const before = this.#done;
    while (this.#done < cuts.length && cuts[this.#done]!.next <= end) {
      this.#done += 1;
    }
    if (this.#done === before) {
      return Promise.resolve(null);
    }
    const rest = transcript.slice(this.#startOf(this.#done - 1), last + 1).map(({ message }) => message);
    return Promise.resolve([...this.#front(this.#done - 1), ...rest]);
  }

  /** The index in the transcript at which the view began after a cut. */
  #startOf(cut: number): number {
    return this.#indexOf(this.#recording.cuts[cut]?.start ?? 0);
  }

  #indexOf(position: number): number {
    const { transcript } = this.#recording;
    const index = transcript.findIndex((placed) => placed.position >= position);
    return index < 0 ? transcript.length : index;
  }

  /** The head of the view after a cut. */
  #front(index: number): readonly BaseMessage[] {
    const { cuts, head, transcript } = this.#recording;
    const cut = cuts[index];
    if (cut === undefined || index === cuts.length - 1) {
      return cut === undefined ? [] : head;
    }
    const before = transcript.slice(0, this.#startOf(index)).map(({ message }) => message);
    return before.filter((message) => roleOf(message) === "system").slice(0, cut.head);
  }
}
