import type {
  Findings,
  GaugeAnswer,
  MessagePage,
  OutlineEntry,
  OutlinePage,
  SessionState,
  ShownMessage,
  WindowGauge,
} from "../model/data.js";
import { getJson } from "./api-client.js";

/** Messages that are fetched together. */
const blockLength = 25;
/** Blocks that are kept; the ones that were used longest ago are fetched again when they come into sight. */
const keptBlocks = 80;

/** An open session, as far as it was fetched. Its views subscribe, and are called at every change. */
export class SessionModel {
  readonly sessionId: string;
  state: SessionState | undefined;
  /** One for each position from `base` on. */
  outline: OutlineEntry[] = [];
  base = 0;
  /** True when the outline is whole for the first time. */
  isReady = false;
  problem: string | undefined;
  findings: Findings | undefined;
  findingsProblem: string | undefined;
  /** Undefined until it was read, and where no answer says what its request took. */
  gauge: WindowGauge | undefined;
  /** New with each change of state or outline. */
  version = 0;
  /** The names of unfolded parts. */
  readonly unfolded = new Map<string, unknown>();

  readonly #blocks = new Map<number, readonly ShownMessage[]>();
  /** Blocks that are on their way, and those that failed since the last refresh. */
  readonly #asked = new Set<number>();
  readonly #listeners = new Set<() => void>();
  #profile = "langchain";
  #refreshing: Promise<void> | undefined;
  #again = false;
  #findingsTimer: ReturnType<typeof setTimeout> | undefined;
  #findingsPause = 0;
  /** Questions for findings, and the newest one that was answered. */
  #questions = 0;
  #answered = 0;

  constructor(sessionId: string) {
    this.sessionId = sessionId;
  }

  /** Calls the listener after every change, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Fetches what is new. Calls while it works are one more run. */
  async refresh(): Promise<void> {
    this.#again = this.#refreshing !== undefined;
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined));
    await this.#refreshing;
    if (this.#again) {
      await this.refresh();
    }
  }

  /** The message at a position, if it was fetched. */
  messageAt(position: number): ShownMessage | undefined {
    const block = this.#blocks.get(Math.floor(position / blockLength));
    return block?.find((message) => message.position === position);
  }

  /** Fetches the messages from one position up to another that are not here yet. */
  need(from: number, to: number): void {
    for (let block = Math.floor(from / blockLength); block * blockLength < to; block += 1) {
      const isWhole = this.messageAt(Math.min(to, (block + 1) * blockLength) - 1) !== undefined;
      if (!isWhole && !this.#asked.has(block)) {
        this.#asked.add(block);
        void this.#fetchBlock(block);
      }
    }
  }

  /** Chooses the profile whose rules are applied. */
  async choose(profile: string): Promise<void> {
    this.#profile = profile;
    await this.#fetchFindings();
  }

  async #refresh(): Promise<void> {
    this.#asked.clear();
    try {
      await this.#extend(await getJson<SessionState>("session", { id: this.sessionId }));
      this.problem = undefined;
    } catch (error) {
      this.problem = (error as Error).message;
    }
    this.#changed();
    this.#findLater();
  }

  /** In a session that is written to all the time, rules are applied for at most a tenth of it. */
  #findLater(): void {
    this.#findingsTimer ??= setTimeout(() => {
      this.#findingsTimer = undefined;
      void this.#fetchFindings().then(() => this.#fetchGauge());
    }, this.#findingsPause);
  }

  /** Replaces the shown state at the end, so that state, outline and messages agree. */
  async #extend(state: SessionState): Promise<void> {
    const isSame = state.edition === this.state?.edition;
    const [base, outline] = isSame ? [this.base, [...this.outline]] : [state.base, []];
    while (base + outline.length < state.next) {
      const from = base + outline.length;
      const page = await getJson<OutlinePage>("outline", { id: this.sessionId, from });
      if (page.edition !== state.edition || page.entries.length === 0) {
        this.#again ||= page.edition !== state.edition;
        break;
      }
      outline.push(...page.entries);
      if (!this.isReady) {
        this.outline = outline;
        this.#changed();
      }
    }
    if (!isSame) {
      this.#blocks.clear();
      // Messages of this edition that came before were dropped.
      this.#asked.clear();
    }
    const end = base + outline.length;
    this.base = base;
    this.outline = outline;
    this.state = end < state.next ? { ...state, next: end } : state;
    this.isReady = true;
  }

  async #fetchBlock(block: number): Promise<void> {
    try {
      const from = block * blockLength;
      const request = { id: this.sessionId, from, limit: blockLength };
      const { edition, messages } = await getJson<MessagePage>("messages", request);
      if (edition === this.state?.edition) {
        this.#blocks.delete(block);
        this.#blocks.set(block, messages);
        this.#asked.delete(block);
        const oldest = this.#blocks.keys().next().value;
        if (this.#blocks.size > keptBlocks && oldest !== undefined) {
          this.#blocks.delete(oldest);
        }
      }
    } catch (error) {
      this.problem = (error as Error).message;
    }
    this.#changed();
  }

  async #fetchFindings(): Promise<void> {
    const [profile, question, begun] = [this.#profile, (this.#questions += 1), performance.now()];
    try {
      const findings = await getJson<Findings>("findings", { id: this.sessionId, profile });
      if (profile === this.#profile && question > this.#answered) {
        [this.findings, this.#answered] = [findings, question];
      }
      this.findingsProblem = undefined;
    } catch (error) {
      this.findingsProblem = (error as Error).message;
    }
    this.#findingsPause = 10 * (performance.now() - begun);
    this.#changed();
  }

  async #fetchGauge(): Promise<void> {
    try {
      this.gauge = (await getJson<GaugeAnswer>("gauge", { id: this.sessionId })).gauge;
      this.#changed();
    } catch {
      // The findings, which read the same, say why.
    }
  }

  #changed(): void {
    this.version += 1;
    this.#listeners.forEach((listener) => listener());
  }
}
