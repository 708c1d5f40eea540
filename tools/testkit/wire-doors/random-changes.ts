import { type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { type Random, randomOf } from "../random.js";
import { cellName } from "./cells.js";
import type { Asked, Scene } from "./scene.js";

/** A conversation to which something happens before each question. */
class Course {
  readonly #random: Random;
  #asked: Asked & { readonly session: string } = { session: "ann" };
  #count = 0;

  constructor(private readonly scene: Scene) {
    this.#random = randomOf("wire-doors", cellName(scene.cell));
  }

  /** Asks, changes something, and asks again. */
  async run(times: number): Promise<void> {
    await this.#ask();
    for (let time = 0; time < times; time += 1) {
      await this.#random.pick(this.#changes())();
      await this.#ask();
    }
  }

  #ask(more: Asked = {}): Promise<void> {
    this.#count += 1;
    return this.scene.ask(`Question ${this.#count}, ${"and more ".repeat(10)}?`, { ...this.#asked, ...more });
  }

  /** A loop of its own has no call for some; ChatGoogleGenerativeAI throws at a second system message of a prompt. */
  #changes(): readonly (() => Promise<unknown>)[] {
    const { scene } = this;
    const { door, provider } = scene.cell;
    const isLoop = door === "loop";
    const takesSystems = provider !== "google-genai" || door !== "hidden";
    const asked = { ...this.#asked, turnId: `turn ${this.#count}` };
    return [
      () => this.#ask({ provider: this.#random.pick(scene.otherProviders) }),
      () => this.#change({ system: `Be kind ${this.#count}.` }),
      () => this.#change({ hasMoreTools: this.#asked.hasMoreTools !== true }),
      () => this.#fromQuestion((question) => this.#history.rewind(question.id!)),
      () => this.#fromQuestion((question) => this.#history.replaceFrom(question.id!, [new HumanMessage("Another?")])),
      () => this.#fork(),
      ...(takesSystems ? [() => this.#history.addMessages([new SystemMessage(`Fact ${this.#count}.`)])] : []),
      ...(takesSystems && !isLoop ? [() => this.#ask({ late: `Soon ${this.#count}.` })] : []),
      ...(isLoop
        ? []
        : [() => scene.askAndWait("May I?", this.#asked), () => scene.askAndStop("Stopped?", this.#asked)]),
      async () => {
        await scene.askInVain("Again?", this.#random.pick(["question", "step"]), asked);
        await scene.ask("Again?", asked);
      },
    ];
  }

  get #history() {
    return this.scene.history(this.#asked.session);
  }

  async #change(asked: Asked): Promise<void> {
    this.#asked = { ...this.#asked, ...asked };
  }

  async #fromQuestion(change: (question: BaseMessage) => Promise<unknown>): Promise<void> {
    const questions = (await this.#history.getMessages()).filter((message) => message.getType() === "human");
    if (questions.length > 1) {
      await change(this.#random.pick(questions.slice(1)));
    }
  }

  async #fork(): Promise<void> {
    const { length } = await this.#history.getTranscript();
    const session = `fork ${this.#count}`;
    await this.#history.fork(session, { at: this.#random.between(1, length) });
    await this.#change({ session });
  }
}

/** Six changes at random, the same ones for the same cell. */
export async function changeAtRandom(scene: Scene): Promise<boolean> {
  await new Course(scene).run(6);
  return true;
}
