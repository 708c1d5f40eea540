// What a person does on the page with the sidebar, by HTTP.
import { randomUUID } from "node:crypto";

const json = { "content-type": "application/json" };

interface Shown {
  readonly position: number;
  readonly id: string;
  readonly role: string;
  readonly text: string;
  readonly interrupted: boolean;
}

interface Call {
  readonly body?: object;
  readonly signal?: AbortSignal;
}

/** Uses every operation of the server, and prints what comes of it. */
export async function useConversations(url: string, [ann, ben]: readonly string[]): Promise<void> {
  const [first, second] = [await signIn(url, ann!), await signIn(url, ben!)];
  const talk = await askAndStop(first);
  await changeAnswers(first, talk);
  const branch = await organize(first, talk);
  await tryAsAnother(url, second, talk);
  await first.json("DELETE", `conversations/${branch}`);
  await first.json("DELETE", `conversations/${talk}`);
  console.log(`after delete: ${(await titles(first)).join(" | ") || "nothing"}`);
}

/** A question, its answer, a question that is stopped, and the same again. */
async function askAndStop(client: Client): Promise<string> {
  const talk = randomUUID();
  const question = { messageId: randomUUID(), text: "Which <b>book</b> about Dublin?" };
  const answer = await client.stream(talk, question);
  const again = await client.stream(talk, question);
  console.log(`retry gives the stored answer: ${answer === again}`);

  const next = { messageId: randomUUID(), text: "Tell me more." };
  const reader = new AbortController();
  const response = await client.send("POST", `conversations/${talk}/turns`, { body: next, signal: reader.signal });
  const stream = response.body!.getReader();
  await stream.read();
  reader.abort();
  await stream.closed.catch(() => undefined);
  await until(async () => (await client.messages(talk)).some(({ interrupted }) => interrupted));
  await show("after Stop", client, talk);
  await client.stream(talk, next);
  await show("after Retry", client, talk);
  return talk;
}

async function changeAnswers(client: Client, talk: string): Promise<void> {
  const [, , question] = await client.messages(talk);
  await client.stream(talk, { messageId: question!.id, text: question!.text, replace: true });
  await show("after Regenerate", client, talk);
  await client.stream(talk, { messageId: question!.id, text: "And about Cork?", replace: true });
  await show("after Edit", client, talk);
}

/** A branch, a new title, pages of the list and of a conversation. */
async function organize(client: Client, talk: string): Promise<string> {
  const { id: branch } = (await client.json("POST", `conversations/${talk}/branches`, { body: { at: 2 } })) as {
    id: string;
  };
  await show("branch", client, branch);
  await client.json("PATCH", `conversations/${talk}`, { body: { title: "Books & cities" } });
  for (let count = 0; count < 12; count += 1) {
    await client.json("POST", `conversations/${branch}/branches`, { body: { at: 2 } });
  }
  const all = await conversations(client);
  const named = all.filter(({ title }) => title === "Books & cities");
  console.log(`listed: ${all.length}, each once: ${new Set(all.map(({ id }) => id)).size}, renamed: ${named.length}`);
  for (let count = 0; count < 9; count += 1) {
    await client.stream(talk, { messageId: randomUUID(), text: `Question ${count}` });
  }
  const newest = (await client.json("GET", `conversations/${talk}/messages`)) as Page;
  const older = (await client.json("GET", `conversations/${talk}/messages?before=${newest.previous}`)) as Page;
  const positions = [...older.messages, ...newest.messages].map(({ position }) => position);
  console.log(
    `pages: ${older.messages.length} + ${newest.messages.length}, from ${positions[0]} to ${positions.at(-1)}`,
  );
  await Promise.all(
    all.filter(({ id }) => id !== talk && id !== branch).map(({ id }) => client.json("DELETE", `conversations/${id}`)),
  );
  return branch;
}

/** What another user gets of it. */
async function tryAsAnother(url: string, client: Client, talk: string): Promise<void> {
  const turn = { messageId: randomUUID(), text: "Let me see!" };
  const tries: [string, string, object?][] = [
    ["GET", `conversations/${talk}/messages`],
    ["POST", `conversations/${talk}/turns`, turn],
    ["POST", `conversations/${talk}/turns`, { ...turn, replace: true }],
    ["POST", `conversations/${talk}/branches`, { at: 1 }],
    ["PATCH", `conversations/${talk}`, { title: "Mine" }],
    ["DELETE", `conversations/${talk}`],
  ];
  const answers: number[] = [];
  for (const [method, path, body] of tries) {
    answers.push((await client.send(method, path, body && { body })).status);
  }
  console.log(`another user gets: ${answers.join(" ")}, and a list of ${(await titles(client)).length}`);
  const stranger = await fetch(`${url}/api/conversations/${talk}/messages`);
  const empty = await client.send("POST", `conversations/${randomUUID()}/turns`, { body: { text: "" } });
  const nonsense = await client.send("GET", "conversations?cursor=nonsense");
  console.log(`without signing in: ${stranger.status}, bad input: ${empty.status} ${nonsense.status}`);
  const signIn = (headers: Record<string, string>) =>
    fetch(`${url}/api/sign-in`, { method: "POST", headers, body: "{}" });
  const [form, page] = [await signIn({}), await signIn({ ...json, "sec-fetch-site": "cross-site" })];
  console.log(`another site's form gets: ${form.status}, its page: ${page.status}`);
}

interface Page {
  readonly messages: readonly Shown[];
  readonly previous: number | null;
}

interface Listed {
  readonly id: string;
  readonly title: string;
}

interface Client {
  send(method: string, path: string, call?: Call): Promise<Response>;
  json(method: string, path: string, call?: Call): Promise<unknown>;
  stream(talk: string, turn: object): Promise<string>;
  messages(talk: string): Promise<readonly Shown[]>;
}

async function signIn(url: string, user: string): Promise<Client> {
  const signedIn = await fetch(`${url}/api/sign-in`, {
    ...{ method: "POST", headers: json, body: JSON.stringify({ user }) },
  });
  const headers = { ...json, cookie: signedIn.headers.get("set-cookie")!.split(";")[0]! };
  const send: Client["send"] = (method, path, { body, signal } = {}) =>
    fetch(`${url}/api/${path}`, {
      ...{ method, headers },
      ...(body && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  const ok = async (response: Response) => {
    if (!response.ok) {
      throw new Error(`${response.status} ${await response.text()}`);
    }
    return response;
  };
  return {
    send,
    json: async (method, path, call) => (await ok(await send(method, path, call))).json(),
    stream: async (talk, body) => (await ok(await send("POST", `conversations/${talk}/turns`, { body }))).text(),
    messages: async (talk) => ((await (await send("GET", `conversations/${talk}/messages`)).json()) as Page).messages,
  };
}

async function show(title: string, client: Client, talk: string): Promise<void> {
  const said = (await client.messages(talk)).map(
    ({ role, text, interrupted }) => `  ${role}: ${text.slice(0, 40)}${interrupted ? "… (stopped)" : ""}`,
  );
  console.log([`${title}:`, ...said].join("\n"));
}

/** All pages of the sidebar. */
async function conversations(client: Client): Promise<Listed[]> {
  const found: Listed[] = [];
  let cursor = "";
  for (;;) {
    const page = (await client.json("GET", `conversations${cursor}`)) as {
      conversations: Listed[];
      next: string | null;
    };
    found.push(...page.conversations);
    if (page.next === null) {
      return found;
    }
    cursor = `?cursor=${encodeURIComponent(page.next)}`;
  }
}

async function titles(client: Client): Promise<string[]> {
  return (await conversations(client)).map(({ title }) => title);
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > end) {
      throw new Error("What was waited for did not happen.");
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
