import { calledModels, calledProviders } from "./providers.js";
import { converse, requestsOf } from "./requests.js";

// Sends a small set of conversations to the real providers whose key is in the environment, and prints which of them
// are accepted. Costs some 30 short requests an adapter. Ends with 0 if all are accepted, with 1 if one is refused, and
// with 2 if no key is set.

interface Row {
  readonly adapter: string;
  readonly request: string;
  readonly result: string;
}

const accepted = "accepted";
const models = calledModels();
if (models.length === 0) {
  const variables = calledProviders.map(({ name }) => `  ${name}_API_KEY (${name}_MODEL, ${name}_BASE_URL)`);
  process.stdout.write(`No key is set, so nothing was sent. Variables (optional ones in parentheses):\n`);
  process.stdout.write(`${variables.join("\n")}\n`);
  process.exit(2);
}

const rows: Row[] = [];
for (const { adapter, own, model } of models) {
  const note = (request: string, result: string) => void rows.push({ adapter, request, result });
  const said = await converse(model).catch((error: unknown) => note("a conversation with tools", refusal(error, [])));
  if (said === undefined) {
    continue;
  }
  note("a conversation with tools", accepted);
  for (const { name, send, texts } of await requestsOf(model, own, said)) {
    await send().then(
      () => note(name, accepted),
      (error: unknown) => note(name, refusal(error, texts)),
    );
  }
}
process.stdout.write(`${table(rows)}\n`);
process.exit(rows.every(({ result }) => result === accepted) ? 0 : 1);

/** The provider's words without the texts of the conversation, and without keys. */
function refusal(error: unknown, texts: readonly string[]): string {
  const { message = String(error), status } = error as { readonly message?: string; readonly status?: number };
  const keys = calledProviders.flatMap(({ name }) => process.env[`${name}_API_KEY`] || []);
  const words = [...texts, ...keys].reduce((left, text) => left.replaceAll(text, "…"), message);
  const line = words.split("\n\nTroubleshooting")[0]!.replace(/\s+/g, " ").replaceAll("|", "\\|");
  return `refused${status === undefined ? "" : ` (${status})`}: ${line.slice(0, 240)}`;
}

function table(lines: readonly Row[]): string {
  const cells = lines.map(({ adapter, request, result }) => `| ${adapter} | ${request} | ${result} |`);
  return ["| adapter | request | result |", "| --- | --- | --- |", ...cells].join("\n");
}
