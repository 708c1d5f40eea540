import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { RedisChatMessageHistory, sessionOf } from "../../src/memory/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import type { Block } from "../../src/messages/content.js";
import { openTurn, type OpenTurn } from "../../src/turns/open-turn.js";
import { propertyRuns } from "../support/property-runs.js";

/** How a client sends what it holds: with ids, with ids of its own for the answers, or as plain texts. */
type Client = "ids" | "own answer ids" | "plain";

interface Turn {
  readonly question: string;
  readonly answer: string;
  /** How many messages of its history the client sends before the question; all where it is left out. */
  readonly keeps: number | undefined;
  /** Calls of tools before the answer, of which the client knows nothing. */
  readonly calls: number;
}

interface Scene {
  readonly client: Client;
  readonly turns: readonly Turn[];
  readonly targetCount: number;
  readonly retention: "keep" | "discard";
}

const scenes = (texts: fc.Arbitrary<string>, keeps: fc.Arbitrary<number | undefined>): fc.Arbitrary<Scene> =>
  fc.record({
    client: fc.constantFrom<Client>("ids", "own answer ids", "plain"),
    turns: fc.array(fc.record({ question: texts, answer: texts, keeps, calls: fc.constantFrom(0, 1, 60) }), {
      minLength: 1,
      maxLength: 10,
    }),
    targetCount: fc.integer({ min: 1, max: 8 }),
    retention: fc.constantFrom("keep", "discard"),
  });

/** A session, and a client that holds the whole conversation itself. */
class Conversation {
  readonly history: RedisChatMessageHistory;
  readonly held: BaseMessage[] = [];
  readonly stored: string[] = [];

  constructor(
    readonly client: Client,
    { targetCount, retention }: Scene,
  ) {
    const reducer = new ChatHistoryTruncationReducer({ targetCount });
    this.history = new RedisChatMessageHistory({
      ...{ sessionId: "s", store: new InMemorySessionStore(), reducer, retention },
    });
  }

  open(input: readonly BaseMessage[]): Promise<OpenTurn> {
    const sent = this.client === "plain" ? input.map(plain) : input;
    return openTurn({ session: sessionOf("test", this.history), turnId: undefined, input: sent });
  }

  /** What the client sends with its next question. */
  input({ question, keeps }: Turn, number: number): BaseMessage[] {
    const kept = keeps === undefined ? this.held : this.held.slice(this.held.length - 2 * keeps);
    return [...(keeps === 0 ? [] : kept), new HumanMessage({ id: `q${number}`, content: question })];
  }

  /** Stores what is new, calls and answer, as a door does. */
  async store(fresh: readonly BaseMessage[], { question, answer, calls }: Turn, number: number): Promise<void> {
    const steps = Array.from({ length: calls }, (_, index) => {
      const call = { type: "tool_call" as const, id: `c${number}-${index}`, name: "search", args: {} };
      return new AIMessage({ id: `s${number}-${index}`, content: "", tool_calls: [call] });
    });
    const said = new AIMessage({ id: `a${number}`, content: answer });
    await this.history.append([...fresh, ...steps, said]);
    this.stored.push(question, ...texts(steps), answer);
    const id = this.client === "own answer ids" ? `client-${number}` : said.id!;
    this.held.push(new HumanMessage({ id: `q${number}`, content: question }), new AIMessage({ id, content: answer }));
  }
}

function plain(message: BaseMessage): BaseMessage {
  return message instanceof HumanMessage ? new HumanMessage(message.text) : new AIMessage(message.text);
}

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** Texts that come again and again, as "yes" and "go on" do. */
const repeated = fc.constantFrom("yes", "go on", "no");
let serial = 0;
const unique = fc.constant("").map(() => `text ${(serial += 1)}`);
const everything = fc.constant(undefined);

describe("a client that sends its whole history with each question", () => {
  it("gets only the new question stored, after any reductions, with ids or plain", async () => {
    await fc.assert(
      fc.asyncProperty(scenes(repeated, everything), async (scene) => {
        const conversation = new Conversation(scene.client, scene);
        for (const [number, turn] of scene.turns.entries()) {
          const { newMessages: fresh, state } = await conversation.open(conversation.input(turn, number));
          expect([state, texts(fresh)]).toEqual(["new", [turn.question]]);
          await conversation.store(fresh, turn, number);
        }
        const transcript = texts(await conversation.history.getTranscript());
        expect(transcript).toEqual(conversation.stored.slice(-transcript.length));
        if (scene.retention === "keep") {
          expect(transcript).toHaveLength(conversation.stored.length);
        }
      }),
      { numRuns: propertyRuns(25) },
    );
  });

  it("may hold no more than the end of it, or only the question", async () => {
    await fc.assert(
      fc.asyncProperty(scenes(unique, fc.nat(4)), async (scene) => {
        const conversation = new Conversation(scene.client, scene);
        for (const [number, turn] of scene.turns.entries()) {
          const { newMessages: fresh } = await conversation.open(conversation.input(turn, number));
          expect(texts(fresh)).toEqual([turn.question]);
          await conversation.store(fresh, turn, number);
        }
      }),
      { numRuns: propertyRuns(25) },
    );
  });

  it("is told what is stored where it never got the answer and sends the same again", async () => {
    await fc.assert(
      fc.asyncProperty(scenes(unique, everything), async (scene) => {
        const conversation = new Conversation(scene.client, { ...scene, retention: "keep" });
        for (const [number, turn] of scene.turns.entries()) {
          const input = conversation.input(turn, number);
          const { newMessages: fresh } = await conversation.open(input);
          await conversation.store(fresh, turn, number);
          const again = await conversation.open(input);
          // A first question without an id and without anything before it may be asked twice.
          if (scene.client !== "plain" || number > 0) {
            expect([again.state, texts(again.newMessages)]).toEqual(["stored", []]);
            expect(texts(again.stored.map(({ message }) => message)).at(-1)).toBe(turn.answer);
            expect(texts(again.turn)).toEqual([turn.question]);
          }
        }
      }),
      { numRuns: propertyRuns(25) },
    );
  });
});

describe("a client without ids", () => {
  const picture = (name: string) => {
    const image_url = { url: `https://example.com/${name.replace("k", "p")}.png` };
    return name.startsWith("k") ? { image_url, type: "image_url" } : { type: "image_url", image_url };
  };
  /**
   * `a1` is an answer, `q1` a question, `p1` a picture, `k1` the same with its keys in another order, `q1+p1` both,
   * `i1` a text of the Responses API.
   */
  const messageOf = (word: string) => {
    if (/^[aq]\d$/.test(word)) {
      return word.startsWith("q") ? new HumanMessage(word) : new AIMessage(word);
    }
    const blocks = word.split("+").map((part) => {
      const text = part.startsWith("i") ? { type: "input_text", text: part.replace("i", "q") } : undefined;
      return /^[kp]/.test(part) ? picture(part) : (text ?? { type: "text", text: part });
    });
    return new HumanMessage({ content: blocks });
  };
  const messagesOf = (words: string) => words.split(" ").map(messageOf);
  const wordsOf = (messages: readonly BaseMessage[]) =>
    messages.map(({ content }) => {
      const blocks = typeof content === "string" ? [{ type: "text", text: content }] : (content as Block[]);
      const parts = blocks.map((block) => {
        const { text, image_url: image } = block as { text?: string; image_url?: { url: string } };
        return image === undefined
          ? text!.replace("q", block.type === "input_text" ? "i" : "q")
          : image.url.slice(20, 22);
      });
      return parts.join("+");
    });

  /** Each case with all of it in the view, and with a view that a reduction has left the last two messages of. */
  const cases = ["whole", "reduced"].flatMap((view) =>
    [
      ["holds all", "q1 a1 q2 a2", "q1 a1 q2 a2 q3", "q3"],
      ["never got the last answer", "q1 a1 q2 a2", "q1 a1 q2", ""],
      ["never got the first answer", "q1 a1", "q1", "q1"],
      ["does not know what others asked since", "q1 a1 q2 a2 q9 a9", "q1 a1 q2 a2 q3", "q3"],
      ["never got an answer, and others asked since", "q1 a1 q2 a2 q9 a9", "q1 a1 q2", ""],
      ["asks another question than was answered then", "q1 a1 q2 a2 q9 a9", "q1 a1 q3", "q3"],
      ["holds a part that came twice, and means the last", "q1 a1 q2 a2 q1 a1 q3 a3", "q1 a1 q2", "q2"],
      ["holds a part that begins within itself", "q1 a1 q1 a1 q1 a1 q1 a2 q9 a9", "q1 a1 q1 a1 q1 a2 q3", "q3"],
      ["holds a part that nearly came twice", "q1 a1 q1 a1 q9 a9", "q1 a1 q1 a2 q3", "q1 a1 q1 a2 q3"],
      ["holds another conversation", "q1 a1 q2 a2", "q7 a7 q3", "q7 a7 q3"],
      ["holds another answer", "q1 a1 q2 a2", "q1 a1 q2 a7 q3", "q1 a1 q2 a7 q3"],
      ["holds less of an answer than is stored", "q1 a1 q2 a2 a3", "q1 a1 q2 a2 q3", "q3"],
      ["holds another part of an answer", "q1 a1 a2 a3", "q1 a2 a3 q3", "q1 a2 a3 q3"],
      ["asks another question than was answered last", "q1 a1 q2 a2", "q1 a1 q3", "q3"],
      ["asks what others asked later", "q1 a1 q9 a9 q3 a3", "q1 a1 q3", "q3"],
      ["holds no more than the beginning of an answer", "q1 a1 a2", "q1 a1 q3", "q3"],
      ["asks the same of another picture", "q1 a1 q2+p1 a2", "q1 a1 q2+p2", "q2+p2"],
      ["asks the same of another picture, and others asked since", "q1 a1 q2+p1 a2 q9 a9", "q1 a1 q2+p2", "q2+p2"],
      ["asks the same without the picture", "q1 a1 q2+p1 a2", "q1 a1 q2", "q2"],
      ["never got the answer about a picture", "q1 a1 q2+p1 a2", "q1 a1 q2+p1", ""],
      ["sends the keys of its blocks in another order", "q1 a1 q2+p1 a2", "q1 a1 q2+k1", ""],
      ["never got the answer to a picture alone", "q1 a1 p1 a2", "q1 a1 p1", ""],
      ["never got it, and others asked since", "q1 a1 p1 a2 q9 a9", "q1 a1 p1", ""],
      ["sends a picture again that has no answer", "q1 a1 p1", "q1 a1 p1", ""],
      ["sends another picture alone", "q1 a1 p1 a2", "q1 a1 p2", "p2"],
      ["sends another picture behind one without an answer", "q1 a1 p1", "q1 a1 p2", "p2"],
      ["sends a picture that it sent before", "q1 a1 p1 a2", "q1 a1 p1 a2 p1", "p1"],
      ["no longer holds the pictures", "q1+p1 a1 q2+p2 a2", "q1 a1 q2 a2 q3", "q3"],
      ["no longer holds a picture alone", "q1 a1 p1 a2", "q1 a1 a2 q3", "q3"],
      ["holds pictures alone", "p1 a1 p2 a2", "p1 a1 p2 a2 p3", "p3"],
      ["holds texts of the Responses API", "i1 a1 i2 a2", "i1 a1 i2 a2 i3", "i3"],
      ["never got the answer to one of those", "i1 a1 i2 a2", "i1 a1 i2", ""],
      ["holds them as plain texts", "i1 a1 i2 a2", "q1 a1 q2", ""],
      ["holds more than there is", "q2 a2", "q1 a1 q2 a2 q3", "q1 a1 q2 a2 q3"],
    ].map((row) => [...row, view] as const),
  );

  it.each(cases)("that %s (%s, sends %s) adds %j where the view is %s", async (_, log, sent, fresh, view) => {
    const store = new InMemorySessionStore();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const history = new RedisChatMessageHistory({ sessionId: "s", store, ...(view === "reduced" && { reducer }) });
    await history.addMessages(messagesOf(log!));
    const input = messagesOf(sent!);
    const { newMessages } = await openTurn({ session: sessionOf("test", history), turnId: undefined, input });
    expect(wordsOf(newMessages).join(" ")).toBe(fresh);
  });
});
