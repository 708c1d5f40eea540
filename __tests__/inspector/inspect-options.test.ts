import { inspectCommand } from "../../cli/commands/inspect-command.js";

function optionsOf(...args: readonly string[]): Record<string, unknown> {
  const { command } = inspectCommand();
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  return command.parse(args, { from: "user" }).opts();
}

describe("options of inspect", () => {
  it("take windows and prices of models, each several times", () => {
    const args = ["--window", "gpt-x=128000", "--price", "gpt-x*=2/8.5", "--window", "a=b=9", "--price", "y=1/2/0.25"];
    expect(optionsOf(...args)).toMatchObject({
      window: [
        { name: "gpt-x", window: 128_000 },
        { name: "a=b", window: 9 },
      ],
      price: [
        { name: "gpt-x*", price: { input: 2, output: 8.5 } },
        { name: "y", price: { input: 1, output: 2, cached: 0.25 } },
      ],
    });
  });

  it.each([
    ["--window", "gpt-x"],
    ["--window", "gpt-x=0"],
    ["--window", "gpt-x=1.5"],
    ["--price", "gpt-x=2"],
    ["--price", "=2/8"],
    ["--price", "gpt-x=2/-8"],
    ["--port", "70000"],
  ])("refuse %s %s", (option, value) => {
    expect(() => optionsOf(option, value)).toThrow("It must be");
  });
});
