import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCluster, type PrivateCluster } from "../../tools/testkit/servers/redis-cluster.js";
import { builtExamples } from "../support/run-example.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const folder = join(__dirname, "../../examples");
const examples = readdirSync(folder).filter((name) => /^\d\d-.*\.ts$/.test(name));
const expectedPath = (name: string) => join(folder, "expected", name.replace(/\.ts$/, ".txt"));

/** What an example printed, without what differs from run to run. */
function comparable(output: string): string {
  return output
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/: [^:\n]*… \(stopped\)/g, ": … (stopped)");
}

describe("the examples", () => {
  const runExample = builtExamples(examples);
  let cluster: PrivateCluster;

  beforeAll(async () => {
    cluster = await startCluster(3);
  });
  afterAll(() => cluster?.stop());

  it("each have their output beside them, and no output is left of another", () => {
    const outputs = readdirSync(join(folder, "expected")).sort();
    expect(outputs).toEqual(examples.map((name) => name.replace(/\.ts$/, ".txt")).sort());
  });

  it("are listed in the guide", () => {
    const guide = readFileSync(join(__dirname, "../../docs/examples.md"), "utf8");
    expect(examples.filter((name) => !guide.includes(`](../examples/${name})`))).toEqual([]);
  });

  it.each(examples)("%s runs on Redis without a key and prints what stands beside it", async (name) => {
    const { host, port } = cluster.nodes[0]!;
    const environment = { REDIS_URL: sharedRedisUrl(), REDIS_CLUSTER: `${host}:${port}` };
    const { exitCode, output, errors } = await runExample(name, { environment });
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: "" });
    if (process.env["UPDATE_EXAMPLES"] === "1") {
      writeFileSync(expectedPath(name), comparable(output));
    }
    expect(comparable(output)).toBe(readFileSync(expectedPath(name), "utf8"));
  });

  it("01-remember-a-chat.ts also runs without Redis", async () => {
    const { exitCode, output } = await runExample("01-remember-a-chat.ts");
    expect([exitCode, comparable(output)]).toEqual([0, readFileSync(expectedPath("01-remember-a-chat.ts"), "utf8")]);
  });
});
