import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const root = join(__dirname, "../..");

describe("npm run repl", () => {
  it("gives a memory with a sample session on a server of its own, and ends with its input", async () => {
    const child = spawn(process.execPath, ["--import", "tsx", "tools/scripts/repl.ts"], {
      ...{ cwd: root, stdio: ["pipe", "pipe", "inherit"] },
    });
    let printed = "";
    const prompt = async () => {
      while (!printed.endsWith("memory> ")) {
        const [text] = (await once(child.stdout!, "data")) as [Buffer];
        printed += String(text);
      }
    };
    const answerTo = async (line: string) => {
      printed = "";
      child.stdin!.write(`${line}\n`);
      await prompt();
      return printed.split("\n")[0];
    };
    await prompt();
    expect(await answerTo("(await history.getTranscript()).length > 3")).toBe("true");
    expect(await answerTo("(await memory.sessions.list({ owner: 'ann' })).sessions[0].title")).toBe("'A sample'");
    expect(await answerTo("await client.ping()")).toBe("'PONG'");
    child.stdin!.end();
    expect((await once(child, "exit"))[0]).toBe(0);
  });
});
