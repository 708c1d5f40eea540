// Checks the workflow files as GitHub reads them: keys, types, jobs that others need, names in expressions.
//
// Usage: tsx tools/scripts/check-workflows.mjs (part of `npm run lint`; tsx, because the parser imports JSON plainly)
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../../.github/workflows");

/** The errors of a workflow, each with its place. */
async function problemsIn(name, content) {
  const { context, value } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  if (value !== undefined) {
    await convertWorkflowTemplate(context, value);
  }
  return context.errors.getErrors().map(({ message }) => message);
}

/** Actions of others that are not named by a commit: a tag can be moved. */
function unpinned(name, content) {
  const used = [...content.matchAll(/uses: (?!\.\/)(\S+)/g)].map(([, action]) => action);
  return used.filter((action) => !/@[\da-f]{40}$/.test(action)).map((action) => `${name}: ${action} names no commit`);
}

const wrongJobs = ["needs: b\n    steps: [{ run: x }]", "steps: [{ run: 'echo ${{ matrx.c }}' }]"];
for (const wrong of wrongJobs) {
  if ((await problemsIn("wrong.yml", `on: push\njobs:\n  a:\n    runs-on: x\n    ${wrong}\n`)).length === 0) {
    throw new Error(`The check does not notice what is wrong in: ${wrong}`);
  }
}
const files = readdirSync(folder).filter((name) => /\.ya?ml$/.test(name));
const problems = await Promise.all(
  files.map(async (name) => {
    const content = readFileSync(join(folder, name), "utf8");
    return [...(await problemsIn(name, content)), ...unpinned(name, content)];
  }),
);
process.stderr.write(
  problems
    .flat()
    .map((problem) => `${problem}\n`)
    .join(""),
);
process.exitCode = problems.flat().length === 0 && files.length > 0 ? 0 : 1;
