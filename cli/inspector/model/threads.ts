/** A LangGraph thread in the list. */
export interface ThreadRow {
  readonly threadId: string;
  readonly checkpoints: number;
  /** True where Redis lost a part of it. */
  readonly damaged?: boolean;
}

/** Threads that match a search, by id. */
export interface ThreadRows {
  readonly threads: readonly ThreadRow[];
  readonly matching: number;
}

/** The beginning of a text; `length` is that of the whole. */
export interface ShownText {
  readonly text: string;
  readonly length: number;
}

/** A change of one channel by a checkpoint. */
export interface ChannelChange {
  readonly channel: string;
  /** The lengths of a list, the number of elements that are new, and the last of these as JSON. */
  readonly list?: {
    readonly before: number;
    readonly now: number;
    readonly added: number;
    readonly shown: readonly ShownText[];
  };
  /** Any other value, as JSON; undefined where the channel is empty now. */
  readonly value?: ShownText | undefined;
}

/** A checkpoint. */
export interface CheckpointRow {
  /** Empty for the root graph. */
  readonly ns: string;
  readonly id: string;
  readonly parent?: string;
  readonly step?: number;
  readonly source?: string;
  readonly at?: number;
  /** The nodes that run next. */
  readonly next: readonly string[];
  /** The questions of interrupts that wait, as JSON. */
  readonly interrupts: readonly ShownText[];
  /** Left out where its parent was dropped or cannot be read. */
  readonly changes?: readonly ChannelChange[];
  /** Why it cannot be read. */
  readonly problem?: string;
}

/** An open thread. */
export interface ThreadState {
  readonly threadId: string;
  readonly checkpoints: number;
  /** Texts that the checkpoints share. */
  readonly items: number;
  readonly expiresAt?: number;
  /** The newest checkpoints of the root graph and then of its subgraphs, newest first. */
  readonly shown: readonly CheckpointRow[];
  /** The parts that Redis lost, and the remedy. */
  readonly damage?: string;
}
