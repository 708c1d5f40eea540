import type { BaseMessage } from "@langchain/core/messages";
import { overridesAppend, type RedisChatMessageHistory } from "../../memory/histories/redis-chat-message-history.js";
import type { ConversationSession } from "../../memory/session/conversation-session.js";
import type { ProfileChoice } from "../../conversation/structure/profiles/check-profile.js";
import { canOpenByWriting, idsOf } from "../../memory/turns/open-turn.js";
import { interruptedMessage } from "../../memory/turns/stop.js";
import { Turn } from "../../memory/turns/turn.js";
import type { TurnHolding, TurnPolicy } from "../../memory/turns/turn-setting.js";
import type { ModelCall } from "../../memory/turns/turn-requests.js";
import { currentConfig, type RunPlace } from "./run-place.js";
import { copiesIn, correctedState, missingIn, type StateParts, turnIdOf, withoutSummaries } from "./state.js";

/** Constructor arguments of {@link AgentRun}. */
export interface RunSetting {
  readonly history: RedisChatMessageHistory;
  readonly session: ConversationSession;
  readonly place: RunPlace;
  readonly profile: ProfileChoice | undefined;
  readonly policy: TurnPolicy;
  readonly parts: StateParts;
  /** Returns how the run holds its session now; undefined where it does not. */
  readonly holding: (() => TurnHolding) | undefined;
}

/** One run of an agent: translates its state for a {@link Turn}. */
export class AgentRun {
  readonly turn: Turn;
  readonly #parts: StateParts;
  /** Ids of the state's messages that were stored when the run began, or never will be. */
  readonly #settled: ReadonlySet<string>;
  /** Ids of the state's messages that are in the view, or not for the model. */
  readonly #hidden: ReadonlySet<string>;
  /** True if the turn was stored with its answer before this run. */
  readonly #isDone: boolean;

  private constructor({ parts }: RunSetting, turn: Turn) {
    const { opened } = turn;
    this.turn = turn;
    this.#parts = parts;
    const ofTurn = new Set(idsOf(opened.turn));
    const ofInput = new Set(idsOf(opened.newMessages));
    const own = opened.stored.map(({ message }) => message);
    const inStore = idsOf(parts.input).filter((id) => !ofInput.has(id));
    const copies = copiesIn(parts, own);
    this.#settled = new Set([...copies, ...inStore, ...idsOf(own)]);
    this.#hidden = new Set([...copies, ...inStore.filter((id) => !ofTurn.has(id))]);
    // New messages behind a complete turn: the caller continues it, but its name is taken.
    const goesOn = opened.state === "stored" && idsOf(parts.after).some((id) => !this.#settled.has(id));
    if (goesOn) {
      turn.continueUnnamed();
    }
    this.#isDone = turn.replay !== undefined;
  }

  /**
   * Reads the session and finds the new messages of the state. With `writes`, the question is stored in the same round
   * trip as it stands in the state, where that can tell whether it is new.
   */
  static async open(
    setting: RunSetting,
    { state, writes }: { readonly state: readonly BaseMessage[]; readonly writes: boolean },
  ): Promise<AgentRun> {
    const { history, place, parts } = setting;
    const { input } = parts;
    const later = new Set(idsOf(parts.after));
    const current = withoutSummaries(writes ? state : []);
    const isQuestion = current[0]?.id !== undefined && current[0].id === input[0]?.id;
    const turn = await Turn.open(
      {
        turnId: turnIdOf(place, parts),
        isRewritten: overridesAppend(history),
        isInState: ({ id }) => id !== undefined && later.has(id),
        ...setting,
      },
      { messages: input, changed: state, written: isQuestion && canOpenByWriting(current) ? current : [] },
    );
    return new AgentRun(setting, turn);
  }

  /** The stored messages missing in the state, if the turn is stored with its answer; else undefined. */
  replay(): BaseMessage[] | undefined {
    if (!this.#isDone) {
      return undefined;
    }
    this.turn.reportReplay();
    return missingIn(this.#parts, this.turn.storedAnswer);
  }

  get storedAnswer(): readonly BaseMessage[] | undefined {
    const answer = this.turn.replay && this.turn.storedAnswer;
    return answer === undefined || answer.length === 0 ? undefined : answer;
  }

  /** The messages of a request: the reduced view and the turn, repaired. */
  async request(state: readonly BaseMessage[], sent: readonly BaseMessage[], call: ModelCall): Promise<BaseMessage[]> {
    const all = { isWhole: true, turn: this.#turnIn(state), changes: { state, sent }, ...call };
    const { history, turn } = await this.turn.requests.make(all);
    return [...history, ...turn];
  }

  answered<M extends BaseMessage>(answer: M, state: readonly BaseMessage[]): M {
    return this.turn.requests.answered(answer, (id) => state.some((message) => message.id === id));
  }

  /** Stores the finished steps in the state, and the question. */
  step(state: readonly BaseMessage[]): Promise<void> {
    return this.turn.step(() => this.#unsettled(state));
  }

  /** Stores the rest of the state's turn, and releases its hold in the same step. */
  finish(state: readonly BaseMessage[]): Promise<void> {
    return this.turn.finish(() => this.#unsettled(state), { config: currentConfig() });
  }

  /** Stores a stopped run: the turn so far, and the model's partial output. */
  stop(state: readonly BaseMessage[], partial: BaseMessage | undefined): Promise<void> {
    const said = interruptedMessage(partial);
    return this.turn.stop(() => [...this.#unsettled(state), ...(said === undefined ? [] : [said])]);
  }

  /** Marks the question, or the results that the model was to read, if the provider would refuse them again. */
  fail(error: unknown, state: readonly BaseMessage[]): Promise<void> {
    return this.turn.fail(error, () => ({ messages: this.#unsettled(state) }));
  }

  #unsettled(state: readonly BaseMessage[]): BaseMessage[] {
    const isNew = (id: string) => !this.#settled.has(id) && !this.turn.hasStored(id);
    return withoutSummaries(state).filter(({ id }) => id === undefined || isNew(id));
  }

  correction(state: readonly BaseMessage[]): BaseMessage[] | undefined {
    const isOpen = this.turn.opened.state === "open";
    const missing = isOpen ? missingIn(this.#parts, this.turn.storedAnswer) : [];
    const answer = this.#isDone ? undefined : this.storedAnswer;
    return correctedState({ parts: this.#parts, state, answer, missing });
  }

  /** The turn's messages, in the state's version if it holds them. */
  #turnIn(state: readonly BaseMessage[]): BaseMessage[] {
    const { turn } = this.turn.opened;
    const ids = new Set(idsOf(turn));
    const current = new Map(state.map((message) => [message.id, message]));
    const later = withoutSummaries(state).filter(
      ({ id }) => id === undefined || (!this.#hidden.has(id) && !ids.has(id)),
    );
    return [...turn.map((message) => current.get(message.id) ?? message), ...later];
  }
}
