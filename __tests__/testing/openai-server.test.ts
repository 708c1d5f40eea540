import type { AIMessage, AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { tool as defineTool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { startOpenAIServer, type OpenAIServer, type OpenAIServerOptions } from "../../testing/openai-server.js";
import { ai, human, system, tool } from "../support/messages.js";
import { all } from "../support/all.js";

const servers: OpenAIServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(options?: OpenAIServerOptions): Promise<{ server: OpenAIServer; model: ChatOpenAI }> {
  const server = await startOpenAIServer(options);
  servers.push(server);
  const model = new ChatOpenAI({
    model: "gpt-4o-mini",
    apiKey: "none",
    maxRetries: 0,
    configuration: { baseURL: server.url },
  });
  return { server, model };
}

const lookup = defineTool(async ({ query }: { query: string }) => query, {
  name: "lookup",
  description: "Looks something up.",
  schema: z.object({ query: z.string() }),
});

describe("the OpenAI test server, with ChatOpenAI", () => {
  it("listens on the port that it is given", async () => {
    const { server } = await start();
    const port = Number(new URL(server.url).port);
    await expect(start({ port })).rejects.toMatchObject({ code: "EADDRINUSE", port });
  });

  it("answers with the scripted text and usage, and keeps the request", async () => {
    const { server, model } = await start({
      reply: () => ({ content: "hello", usage: { promptTokens: 7, completionTokens: 2 } }),
    });
    const answer = await model.invoke([system("be kind"), human("hi")]);
    expect(answer.content).toBe("hello");
    expect(answer.usage_metadata).toMatchObject({ input_tokens: 7, output_tokens: 2, total_tokens: 9 });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]).toMatchObject({
      refusal: undefined,
      body: {
        messages: [
          { role: "system", content: "be kind" },
          { role: "user", content: "hi" },
        ],
      },
    });
  });

  it("streams a text in pieces that together are the text, with usage at the end", async () => {
    const text = "A longer answer, with 👍 and an é, in several pieces.";
    const { model } = await start({ reply: () => text });
    const chunks: AIMessageChunk[] = await all(await model.stream([human("hi")]));
    const whole = chunks.reduce((sum, chunk) => sum.concat(chunk));
    expect(chunks.filter(({ content }) => content !== "").length).toBeGreaterThan(3);
    expect(whole.content).toBe(text);
    expect(whole.usage_metadata?.output_tokens).toBeGreaterThan(0);
  });

  it.each(["invoke", "stream"] as const)(
    "makes the scripted tool calls, by %s, and takes their results back",
    async (way) => {
      const calls = [
        { name: "lookup", arguments: { query: "weather in a far city" } },
        { id: "mine", name: "lookup", arguments: '{"query":"b"}' },
      ];
      const { model } = await start({ reply: (_, count) => (count === 1 ? { toolCalls: calls } : "sunny") });
      const bound = model.bindTools([lookup]);
      const ask = async (messages: BaseMessage[]): Promise<AIMessage> => {
        if (way === "invoke") {
          return bound.invoke(messages);
        }
        let whole: AIMessageChunk | undefined;
        for await (const chunk of await bound.stream(messages)) {
          whole = whole === undefined ? chunk : whole.concat(chunk);
        }
        return whole!;
      };
      const question = human("weather?");
      const calling = await ask([question]);
      expect(calling.tool_calls?.map(({ id, name, args }) => ({ id, name, args }))).toEqual([
        { id: "call_1_0", name: "lookup", args: { query: "weather in a far city" } },
        { id: "mine", name: "lookup", args: { query: "b" } },
      ]);
      const answer = await ask([question, calling, tool("call_1_0"), tool("mine")]);
      expect(answer.content).toBe("sunny");
    },
  );

  it("refuses a request with status 400 and the service's words", async () => {
    const { server, model } = await start();
    const text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'";
    await expect(model.invoke([human("q"), tool("a")])).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(text) as string,
    });
    expect(server.requests[0]?.refusal?.message).toContain(text);
  });

  it("refuses streaming requests, too", async () => {
    const { model } = await start();
    await expect(model.stream([human("q"), tool("a")])).rejects.toMatchObject({ status: 400 });
  });

  it("fails as scripted", async () => {
    const { model } = await start({
      reply: (_, count) => (count === 1 ? { failure: { status: 429, message: "Rate limit reached" } } : "ok"),
    });
    await expect(model.invoke([human("q")])).rejects.toMatchObject({ status: 429 });
    expect((await model.invoke([human("q")])).content).toBe("ok");
  });

  it("answers with status 500 if the script throws", async () => {
    const { model } = await start({
      reply: () => {
        throw new Error("script error");
      },
    });
    await expect(model.invoke([human("q")])).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining("script error") as string,
    });
  });

  it("answers `ok` without a script", async () => {
    const { model } = await start();
    expect((await model.invoke([human("q"), ai("a"), human("q")])).content).toBe("ok");
  });
});

describe("the OpenAI test server, by itself,", () => {
  const post = (url: string, body: string, headers: Record<string, string> = { authorization: "Bearer none" }) =>
    fetch(url, { method: "POST", body, headers });

  it("requires a key, a known path and JSON", async () => {
    const { server } = await start();
    const completions = `${server.url}/chat/completions`;
    expect((await post(completions, "{}", {})).status).toBe(401);
    expect((await post(`${server.url}/completions`, "{}")).status).toBe(404);
    expect((await fetch(completions, { headers: { authorization: "Bearer none" } })).status).toBe(404);
    expect((await post(completions, "{")).status).toBe(400);
  });

  it("ends its stream with [DONE], and sends usage only on request", async () => {
    const { server } = await start({ reply: () => "hi" });
    const ask = async (options: object) => {
      const body = { model: "m", stream: true, messages: [{ role: "user", content: "q" }], ...options };
      return (await post(`${server.url}/chat/completions`, JSON.stringify(body))).text();
    };
    const plain = await ask({});
    expect(plain.trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(plain).not.toContain("prompt_tokens");
    expect(await ask({ stream_options: { include_usage: true } })).toContain("prompt_tokens");
  });

  it("can be closed while a client keeps its connection open", async () => {
    const server = await startOpenAIServer();
    await post(
      `${server.url}/chat/completions`,
      JSON.stringify({ model: "m", messages: [{ role: "user", content: "q" }] }),
    );
    await server.close();
    await expect(post(`${server.url}/chat/completions`, "{}")).rejects.toThrow();
  });
});
