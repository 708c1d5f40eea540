import type { BaseMessage } from "@langchain/core/messages";
import type { RepairPlan } from "../../structure/options.js";
import { repairRequest } from "../../structure/repair/repair.js";
import { fitHistory } from "./fit-history.js";
import { LoopReduction, type ShownResult } from "./loop-reduction.js";
import { MessageAssembly, ownMessages } from "./message-assembly.js";
import { shrinkToFit, type Shrunk } from "./shrink-to-fit.js";
import type { StoredHistory } from "../stored/history.js";
import type { TokenMeter } from "./token-meter.js";
import { refuseOpenCalls } from "../turn/record.js";
import type { LoopStep } from "../turn/turn.js";
import { UploadParts, type ShownUpload } from "./upload-parts.js";
import type { Upload } from "../stored/uploads.js";
import type { DroppedPart, WindowOutcome, WindowSection } from "./window-outcome.js";

/** Everything that should be sent, before it is shrunk. */
export interface WindowContent {
  readonly system: BaseMessage | undefined;
  /** The rendered user message, with the content besides text of its stored form. */
  readonly user: BaseMessage;
  readonly history: StoredHistory;
  readonly uploads: readonly Upload[];
  readonly steps: readonly LoopStep[];
  /** Numbers of sources that the model has cited in this turn. */
  readonly cited: ReadonlySet<number>;
  /** The repair of the joined messages. */
  readonly plan: RepairPlan;
  /** Tokens that the request may take. */
  readonly limit: number;
}

/** The messages for a model call, and what was left out of them. */
export interface FittedWindow {
  /** The messages to send, in order. */
  readonly messages: BaseMessage[];
  /** The tokens that each section asked for and was given, and the parts that were left out. */
  readonly outcome: WindowOutcome;
}

/** Sizes of what is always sent whole. `own` is what the model said in this turn. */
interface FixedSizes {
  readonly system: number;
  readonly user: number;
  readonly own: number;
  readonly tools: number;
}

interface Shares {
  readonly uploads: Shrunk<ShownUpload> & { readonly asked: number };
  readonly loop: Shrunk<ShownResult> & { readonly asked: number };
  readonly forHistory: number;
}

/**
 * Divides the context window among the sections of a model call.
 *
 * System prompt, user message and tools come first and whole. Uploads get up to `uploadShare` of the rest, less if
 * the loop would not fit otherwise; then comes the loop, then stored rounds, the newest first. A section's unused share
 * goes to the next. No section gets more in a smaller window. One instance serves many turns, one at a time, and counts
 * nothing twice within a turn.
 */
export class TokenWindow {
  readonly #meter: TokenMeter;
  readonly #uploadShare: number;
  readonly #uploads = new UploadParts();
  readonly #loop = new LoopReduction();
  readonly #assembly = new MessageAssembly();

  /** `uploadShare`: of the space left after system prompt, user message and tools, what uploads may take. */
  constructor(meter: TokenMeter, uploadShare: number) {
    this.#meter = meter;
    this.#uploadShare = uploadShare;
  }

  /**
   * Returns the messages that fit, and an outcome that says what was left out.
   *
   * @throws StructureError while a call is waiting for its result.
   */
  async fit(content: WindowContent): Promise<FittedWindow> {
    const fixed = await this.#countFixed(content);
    let { window, isRepaired } = await this.#fitHistory(content, { fixed, atMost: Infinity });
    // A repair may add a placeholder. Then a round less is sent, rather than more than the window holds: the oldest,
    // which may be the one that needs it, and then as many as it takes.
    for (const isLast of [false, true]) {
      const { overBudgetBy, sections } = window.outcome;
      const { given } = sections.history;
      if (!isRepaired || overBudgetBy === 0 || given === 0) {
        break;
      }
      const atMost = given - (isLast ? overBudgetBy : 1);
      ({ window, isRepaired } = await this.#fitHistory(content, { fixed, atMost }));
    }
    return window;
  }

  async #fitHistory(
    content: WindowContent,
    { fixed, atMost }: { readonly fixed: FixedSizes; readonly atMost: number },
  ): Promise<{ readonly window: FittedWindow; readonly isRepaired: boolean }> {
    const { uploads, loop, forHistory } = await this.#share(content, fixed);
    const history = await fitHistory(content.history, { budget: Math.min(forHistory, atMost), meter: this.#meter });
    const assembled = this.#assembly.assemble({ ...content, history, uploads: uploads.shown, loop: loop.shown });
    refuseOpenCalls(assembled);
    const { messages, repairs } = repairRequest(content.plan, assembled);
    // Counted as sent, not added up: a counter may count parts together differently.
    const tokens = (await this.#meter.ofAll(messages)) + fixed.tools;
    const others = fixed.system + fixed.own + fixed.tools + uploads.tokens + loop.tokens + history.given;
    const sections: Record<WindowSection, { asked: number; given: number }> = {
      system: { asked: fixed.system, given: fixed.system },
      user: { asked: fixed.user, given: tokens - others },
      tools: { asked: fixed.tools, given: fixed.tools },
      uploads: { asked: uploads.asked, given: uploads.tokens },
      history: { asked: history.asked, given: history.given },
      loop: { asked: loop.asked + fixed.own, given: loop.tokens + fixed.own },
    };
    const dropped = [
      ...uploads.shown.flatMap(droppedOf),
      ...history.dropped,
      ...loop.shown.flatMap((shown) => shown.dropped ?? []),
    ];
    const { limit } = content;
    const outcome = {
      limit,
      tokens,
      sections,
      dropped,
      overBudgetBy: Math.max(0, tokens - limit),
      repairs: [...content.history.repairs, ...repairs],
    };
    return { window: { messages, outcome }, isRepaired: repairs.length > 0 };
  }

  async #countFixed({ system, user, steps }: WindowContent): Promise<FixedSizes> {
    return {
      system: system === undefined ? 0 : await this.#meter.of(system),
      user: await this.#meter.of(user),
      own: await this.#meter.ofAll(ownMessages(steps)),
      // Last, because a counter may know its cost per request only after its first count.
      tools: await this.#meter.ofTools(),
    };
  }

  async #share(
    { uploads, steps, cited, limit }: WindowContent,
    { system, user, own, tools }: FixedSizes,
  ): Promise<Shares> {
    const left = Math.max(0, limit - system - user - tools);
    const shrinkUploads = (budget: number) => shrinkToFit(this.#uploads.request(uploads, this.#meter), budget);
    const shrinkLoop = (budget: number) => shrinkToFit(this.#loop.request(steps, cited, this.#meter), budget);
    const wholeUploads = await shrinkUploads(Infinity);
    const wholeLoop = await shrinkLoop(Infinity);
    const forLoop = left - own;
    let reserved = Math.min(wholeUploads.tokens, Math.floor(this.#uploadShare * left));
    if (reserved > 0 && wholeLoop.tokens > forLoop - reserved) {
      reserved = Math.max(0, Math.min(reserved, forLoop - (await shrinkLoop(-1)).tokens));
    }
    const loopFits = wholeLoop.tokens <= forLoop - reserved;
    return {
      uploads: { ...(await shrinkUploads(reserved)), asked: wholeUploads.tokens },
      loop: { ...(loopFits ? wholeLoop : await shrinkLoop(forLoop - reserved)), asked: wholeLoop.tokens },
      // By what was asked, not by what is shown: otherwise a smaller window could hold more of the history.
      forHistory: forLoop - reserved - wholeLoop.tokens,
    };
  }
}

function droppedOf({ upload, as, characters = 0 }: ShownUpload): DroppedPart[] {
  const of = upload.text?.length ?? 0;
  return as === "whole" ? [] : [{ section: "uploads", kind: "upload", id: upload.id, shown: characters, of }];
}
