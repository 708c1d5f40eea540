/**
 * The main job on real input: recorded tool-calling conversations, played turn by turn through two application
 * instances that share their sessions.
 *
 *   npm run demo                     the conversations that ship with the package
 *   npm run demo -- --file PATH      any JSONL of { id, messages } in OpenAI's chat format
 *
 * Options: --target 10, --threshold 4 (the truncation reducer's). Exit code: 0, 1 for problems, 2 for input that
 * cannot be used.
 */
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { InputError, readConversations } from "./conversations.js";
import { openBackend } from "./backend.js";
import { playConversation, type PlayedConversation } from "./play.js";
import { printTable } from "./table.js";
import { Progress } from "./progress.js";
import { askRealModel } from "./real-model.js";

const shipped = fileURLToPath(new URL("../data/recorded-conversations.jsonl", import.meta.url));

async function main(): Promise<number> {
  const values = optionsOf(process.argv.slice(2));
  const conversations = readConversations(values.file);
  await using backend = await openBackend({
    targetCount: count("--target", values.target, 1),
    thresholdCount: count("--threshold", values.threshold, 0),
  });
  console.log(`${conversations.length} recorded conversations, two application instances, ${backend.description}.`);
  console.log(
    `Each view is cut to ${values.target} messages when it exceeds ${values.target} + ` +
      `${values.threshold}; the transcript stays whole.\n`,
  );

  const played: PlayedConversation[] = [];
  const progress = new Progress(conversations.length);
  for (const conversation of conversations) {
    played.push(await playConversation(conversation, backend));
    progress.advance();
  }
  printTable(played);
  await askRealModel(backend, played[0]!.sessionId);
  await backend.forget(played.map(({ sessionId }) => sessionId));

  const problems = played.flatMap(({ problems }) => problems);
  problems.slice(0, 20).forEach((problem) => console.error(`problem: ${problem}`));
  console.log(
    problems.length === 0
      ? "\nEverything that was sent to the model is valid, and every transcript is what was sent in."
      : `\n${problems.length} problems.`,
  );
  return problems.length === 0 ? 0 : 1;
}

function optionsOf(args: string[]): { readonly file: string; readonly target: string; readonly threshold: string } {
  try {
    const { values } = parseArgs({
      args,
      options: {
        file: { type: "string", default: shipped },
        target: { type: "string", default: "10" },
        threshold: { type: "string", default: "4" },
      },
    });
    return values;
  } catch (error) {
    const [sentence] = (error as Error).message.split(". ");
    throw new InputError(`${sentence}. The options are --file, --target and --threshold.`);
  }
}

function count(option: string, value: string, least: number): number {
  if (!/^\d{1,9}$/.test(value) || Number(value) < least) {
    throw new InputError(`${option} must be a whole number of at least ${least}.`);
  }
  return Number(value);
}

process.exitCode = await main().catch((error: unknown) => {
  if (error instanceof InputError) {
    console.error(error.message);
    return 2;
  }
  throw error;
});
