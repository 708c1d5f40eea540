import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { RedisChatMessageHistory, sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { Block } from "../../src/conversation/messages/content.js";
import { refusedMark } from "../../src/conversation/messages/change-message.js";
import { openTurn, type OpenTurn } from "../../src/memory/turns/open-turn.js";
import { forAllAsync } from "../support/property-runs.js";

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

/** Plays conversations, and checks what a client's next question opens; `end` is checked behind the last one. */
async function holds(
  of: fc.Arbitrary<Scene>,
  check: (conversation: Conversation, turn: Turn, number: number) => Promise<void>,
  end: (conversation: Conversation, scene: Scene) => Promise<void> | void = () => undefined,
): Promise<void> {
  await forAllAsync(25, of, async (scene) => {
    const conversation = new Conversation(scene.client, scene);
    for (const [number, turn] of scene.turns.entries()) {
      await check(conversation, turn, number);
    }
    await end(conversation, scene);
  });
}

describe("a client that sends its whole history with each question", () => {
  it("gets only the new question stored, after any reductions, with ids or plain", async () => {
    await holds(
      scenes(repeated, everything),
      async (conversation, turn, number) => {
        const { newMessages: fresh, state } = await conversation.open(conversation.input(turn, number));
        expect([state, texts(fresh)]).toEqual(["new", [turn.question]]);
        await conversation.store(fresh, turn, number);
      },
      async ({ history, stored }, { retention }) => {
        const transcript = texts(await history.getTranscript());
        expect(transcript).toEqual(stored.slice(-transcript.length));
        expect(retention === "keep" ? transcript.length : stored.length).toBe(stored.length);
      },
    );
  });

  it("may hold no more than the end of it, or only the question", async () => {
    await holds(scenes(unique, fc.nat(4)), async (conversation, turn, number) => {
      const { newMessages: fresh } = await conversation.open(conversation.input(turn, number));
      expect(texts(fresh)).toEqual([turn.question]);
      await conversation.store(fresh, turn, number);
    });
  });

  it("is told what is stored where it never got the answer and sends the same again", async () => {
    const kept = scenes(unique, everything).map((scene): Scene => ({ ...scene, retention: "keep" }));
    await holds(kept, async (conversation, turn, number) => {
      const input = conversation.input(turn, number);
      const { newMessages: fresh } = await conversation.open(input);
      await conversation.store(fresh, turn, number);
      const again = await conversation.open(input);
      // A first question without an id and without anything before it may be asked twice.
      if (conversation.client !== "plain" || number > 0) {
        expect([again.state, texts(again.newMessages)]).toEqual(["stored", []]);
        expect(texts(again.stored.map(({ message }) => message)).at(-1)).toBe(turn.answer);
        expect(texts(again.turn)).toEqual([turn.question]);
      }
    });
  });
});

/** How a tab holds an answer: without what was said beside calls, in one text, as it is stored, or a part of it. */
type Holding = "final" | "joined" | "all" | "part";

interface TabTurn {
  readonly tab: number;
  readonly question: string;
  /** What was said beside calls, and the answer. */
  readonly said: readonly string[];
  /** What is stored of a turn that failed; undefined where it did not. */
  readonly failed: "nothing" | "question" | undefined;
}

describe("several tabs without ids, each with its own conversation", () => {
  const answers = fc.array(unique, { minLength: 1, maxLength: 3 });
  const turns = fc.array(
    fc.record<TabTurn>({
      tab: fc.nat(2),
      question: unique,
      said: answers,
      failed: fc.option(fc.constantFrom("nothing", "question"), { freq: 4, nil: undefined }),
    }),
    { minLength: 2, maxLength: 12 },
  );

  function heldOf(said: readonly string[], holding: Holding): AIMessage[] {
    const { [holding]: texts } = {
      final: said.slice(-1),
      joined: [said.join("\n\n")],
      all: said,
      part: [said.at(-1)!.slice(0, 6)],
    };
    return texts.map((text) => new AIMessage(text));
  }

  const holdings = fc.constantFrom<Holding>("final", "joined", "all", "part");
  const targets = fc.integer({ min: 1, max: 8 });

  it.each([
    ["one tab gets only what is new stored, whatever failed", 1],
    ["several get each question stored, and no answered one twice", 3],
  ])("%s", (_, tabs) =>
    forAllAsync(25, fc.tuple(turns, holdings, targets), async ([list, holding, targetCount]) => {
      const keep = { targetCount: tabs === 1 ? 1_000 : targetCount, retention: "keep" as const };
      const { history } = new Conversation("plain", { ...keep, client: "plain", turns: [] });
      const begun = [new HumanMessage("Hello"), new AIMessage("How can I help?")];
      await history.append(begun);
      const held: BaseMessage[][] = [[...begun], [...begun], [...begun]];
      const [lost, answered] = [new Set<string>(), new Set<string>()];
      for (const [number, { tab, question, said, failed }] of list.entries()) {
        const own = held[tab % tabs]!;
        const input = [...own, new HumanMessage(question)];
        const { newMessages } = await openTurn({ session: sessionOf("t", history), turnId: undefined, input });
        const unstored = texts(own).filter((text) => lost.delete(text));
        expect(texts(newMessages).slice(tabs === 1 ? 0 : -1)).toEqual([...(tabs === 1 ? unstored : []), question]);
        own.push(new HumanMessage(question));
        if (failed === "nothing") {
          [...unstored, question].forEach((text) => lost.add(text));
        } else {
          const steps = said.slice(0, -1).map((text, step) => {
            const call = { type: "tool_call" as const, id: `c${number}-${step}`, name: "search", args: {} };
            return new AIMessage({ content: text, tool_calls: [call] });
          });
          const answer = failed === undefined ? [...steps, new AIMessage(said.at(-1)!)] : [];
          await history.append([...newMessages, ...answer]);
          answer.forEach(() => [question, ...said].forEach((text) => answered.add(text)));
          own.push(...(failed === undefined ? heldOf(said, holding) : []));
        }
      }
      const stored = texts(await history.getTranscript()).filter((text) => tabs === 1 || answered.has(text));
      expect(new Set(stored).size).toBe(stored.length);
    }),
  );
});

describe("a history without ids, whatever it holds", () => {
  const words = fc.constantFrom("q1", "q2", "q3", "a1", "a2", "a3");
  const messageOf = (word: string) => (word.startsWith("q") ? new HumanMessage(word) : new AIMessage(word));
  const lists = [fc.array(words, { maxLength: 14 }), fc.array(words, { maxLength: 8 })] as const;
  const opened = (history: RedisChatMessageHistory, input: BaseMessage[]) =>
    openTurn({ session: sessionOf("t", history), turnId: undefined, input });

  it("is new from its end on, and stored with one turn: the next adds its question only", () =>
    forAllAsync(100, fc.tuple(...lists, fc.integer({ min: 1, max: 8 })), async ([log, held, targetCount]) => {
      const { history } = new Conversation("plain", { client: "plain", turns: [], targetCount, retention: "keep" });
      await history.append(log.map(messageOf));
      const input = [...held, "q4"].map(messageOf);
      const { newMessages } = await opened(history, input);
      expect(newMessages).toEqual(input.slice(input.length - newMessages.length));
      await history.append([...newMessages, messageOf("a4")]);
      const next = await opened(history, [...held, "q4", "a4", "q5"].map(messageOf));
      expect(texts(next.newMessages)).toEqual(["q5"]);
    }));

  it("adds its last question only where neither its end nor its question ends the log", () =>
    forAllAsync(100, fc.tuple(...lists, fc.integer({ min: 1, max: 8 })), async ([log, held, targetCount]) => {
      const { history } = new Conversation("plain", { client: "plain", turns: [], targetCount, retention: "keep" });
      await history.append([...log, "q8", "a8"].map(messageOf));
      const { newMessages } = await opened(history, [...held, "a9", "q4"].map(messageOf));
      expect(texts(newMessages)).toEqual(["q4"]);
    }));
});

describe("a client without ids", () => {
  const picture = (name: string) => {
    const image_url = { url: `https://example.com/${name.replace("k", "p")}.png` };
    return name.startsWith("k") ? { image_url, type: "image_url" } : { type: "image_url", image_url };
  };
  /**
   * `a1` is an answer, `q1` a question, `p1` a picture, `k1` the same with its keys in another order, `q1+p1` both,
   * `i1` a text of the Responses API, `c1` words beside a call, `t1` its result, `s12` the part `a12` of a stopped
   * answer, `r1` the question `q1` that a provider refused, by the mark `m1`.
   */
  const messageOf = (word: string): BaseMessage => {
    if (/^c\d$/.test(word)) {
      return new AIMessage({ content: word, tool_calls: [{ id: word, name: "search", args: {}, type: "tool_call" }] });
    }
    if (word.startsWith("t")) {
      return new ToolMessage({ content: word, tool_call_id: word.replace("t", "c") });
    }
    if (word.startsWith("m")) {
      return refusedMark({ reason: "refused", ids: [word.replace("m", "r")] });
    }
    if (word.startsWith("r")) {
      return new HumanMessage({ id: word, content: word.replace("r", "q") });
    }
    if (word.startsWith("s")) {
      return new AIMessage({ content: word.replace("s", "a"), response_metadata: { interrupted: true } });
    }
    if (/^[aq]\d+$|_/.test(word)) {
      const said = word.replaceAll("_", " ");
      return word.startsWith("q") ? new HumanMessage(said) : new AIMessage(said);
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
      ["holds the end of it", "q1 a1 q2 a2", "q2 a2 q3", "q3"],
      ["holds more than there is", "q2 a2", "q1 a1 q2 a2 q3", "q3"],
      ["holds another conversation", "q1 a1 q2 a2", "q7 a7 q3", "q3"],
      ["never got the first answer", "q1 a1", "q1", "q1"],
      ["never got the last answer", "q1 a1 q2 a2", "q1 a1 q2", ""],
      ["never got an answer, and others asked since", "q1 a1 q2 a2 q9 a9", "q1 a1 q2", "q2"],
      ["does not know what others asked since", "q1 a1 q2 a2 q9 a9", "q1 a1 q2 a2 q3", "q3"],
      ["goes on beside another tab", "q1 a1 q2 a2 q9 a9 q3 a3", "q1 a1 q2 a2 q3 a3 q4", "q4"],
      ["holds a part that came twice, and means the last", "q1 a1 q2 a2 q1 a1 q3 a3", "q1 a1 q2", "q2"],
      ["asks another question than was answered last", "q1 a1 q2 a2", "q1 a1 q3", "q3"],
      ["asks something else where it never got an answer", "q1 a1 q2 a2", "q1 a1 q2 q3", "q3"],
      ["asks something else behind a question without an answer", "q1 a1 q2", "q1 a1 q2 q3", "q3"],
      ["asks twice behind one", "q1 a1 q2", "q1 a1 q2 q3 q4", "q3 q4"],
      ["asks behind one, and others asked since", "q1 a1 q2 q9 a9", "q1 a1 q2 q3", "q2 q3"],
      ["asks behind a first question without an answer", "q1", "q1 q2", "q2"],
      ["never got the answer to two messages", "q1 a1 q2 q3 a3", "q1 a1 q2 q3", ""],
      ["brings the same beside another question", "q1 q2", "q1 q3", "q1 q3"],
      ["holds an answer to a question that has none", "q1 a1 q2", "q1 a1 q2 a2 q3", "a2 q3"],
      ["holds a turn of which nothing is stored", "q1 a1", "q1 a1 q2 a2 q3", "q2 a2 q3"],
      ["holds another last answer", "q1 a1 q2 a2", "q1 a1 q2 a7 q3", "q3"],
      ["changes all answers", "q1 a1 q2 a2", "q1 a7 q2 a8 q3", "q3"],
      ["changes a question, and holds its answer", "q1 a1 q2 a2", "q1 a1 q7 a7 q3", "q3"],
      ["holds questions in another order", "q1 a1 q2 a2 q3 a3", "q2 a2 q1 a1 q4", "q4"],
      ["asks the same of another picture", "q1 a1 q2+p1 a2", "q1 a1 q2+p2", "q2+p2"],
      ["asks the same without the picture", "q1 a1 q2+p1 a2", "q1 a1 q2", "q2"],
      ["never got the answer about a picture", "q1 a1 q2+p1 a2", "q1 a1 q2+p1", ""],
      ["sends the keys of its blocks in another order", "q1 a1 q2+p1 a2", "q1 a1 q2+k1", ""],
      ["sends a picture that it sent before", "q1 a1 p1 a2", "q1 a1 p1 a2 p1", "p1"],
      ["no longer holds the pictures", "q1+p1 a1 q2+p2 a2", "q1 a1 q2 a2 q3", "q3"],
      ["holds texts of the Responses API", "i1 a1 i2 a2", "i1 a1 i2 a2 i3", "i3"],
      ["holds them as plain texts", "i1 a1 i2 a2", "q1 a1 q2", ""],
      ["holds answers without the words beside calls", "q1 c1 t1 c2 t2 a1 q2 c3 t3 a2", "q1 a1 q2 a2 q3", "q3"],
      ["holds all words in one", "q1 c1 t1 a1 q2 c2 t2 a2", "q1 c1__a1 q2 c2_a2 q3", "q3"],
      ["never got such an answer", "q1 c1 t1 a1 q2 c2 t2 a2", "q1 a1 q2", ""],
      ["holds less of a stopped answer than is stored", "q1 a1 q2 s234", "q1 a1 q2 a23 q3", "q3"],
      ["holds more of it than is stored", "q1 a1 q2 s23", "q1 a1 q2 a234 q3", "q3"],
      ["stopped reading, and never got the next answer", "q1 a123 q2 a2", "q1 a12 q2", ""],
      ["holds a question that a provider refused", "q1 a1 r2 m2", "q1 a1 q2 q3", "q3"],
      ["asks that one again", "q1 a1 r2 m2", "q1 a1 q2", ""],
      ["is cut within a turn", "q1 a1 q2 a2", "a2 q3", "q3"],
      ["is cut so, and asks the same again", "q1 a1 q1 a2", "a2 q1", "q1"],
      ["is cut so, and never got the last answer", "q1 a1 q2 a2", "a1 q2", "q2"],
      ["asks the same again", "q1 a1 q1 a2", "q1 a1 q1 a2 q1", "q1"],
      ["asked the same twice, and never got the last answer", "q1 a1 q1 a2", "q1 a1 q1", "q1"],
      ["changes all answers, and never got the last one", "q1 a1 q2 a2", "q1 a7 q2", ""],
      ["has other white space in its answers", "q1 a1__b q2 a2", "q1 a1_b q2 a2 q3", "q3"],
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

  it("may hold thousands of messages that say the same", async () => {
    const history = new RedisChatMessageHistory({ sessionId: "s", store: new InMemorySessionStore() });
    const pairs = (count: number) => messagesOf(Array.from({ length: count }, () => "q1 a1").join(" "));
    await history.addMessages([...messagesOf("q2 a2"), ...pairs(400)]);
    const input = [...messagesOf("q3 a3"), ...pairs(3_000), ...messagesOf("q4")];
    const begun = performance.now();
    const { newMessages } = await openTurn({ session: sessionOf("test", history), turnId: undefined, input });
    expect(wordsOf(newMessages)).toEqual(["q4"]);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it("may have other line ends, and other forms of the same letters", async () => {
    const history = new RedisChatMessageHistory({ sessionId: "s", store: new InMemorySessionStore() });
    await history.addMessages([new HumanMessage("Caf\u00e9\nor bar?"), new AIMessage("Caf\u00e9.\n\n1. Near")]);
    const held = [new HumanMessage("Cafe\u0301\r\nor bar?"), new AIMessage("Cafe\u0301.\r\n\r\n1. Near")];
    const input = [...held, new HumanMessage("And then?")];
    const { newMessages } = await openTurn({ session: sessionOf("test", history), turnId: undefined, input });
    expect(texts(newMessages)).toEqual(["And then?"]);
  });
});
