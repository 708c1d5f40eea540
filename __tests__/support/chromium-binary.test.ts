import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium, requireChromium } from "./chromium-binary.js";

describe("the Chromium of the tests", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "chromium-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const install = () => {
    writeFileSync(join(folder, "chromium"), "#!/bin/sh\n");
    chmodSync(join(folder, "chromium"), 0o755);
  };

  it("is the one that CHROMIUM_BIN names, or one on the PATH", () => {
    expect(findChromium({ PATH: folder })).toBeUndefined();
    install();
    expect(findChromium({ PATH: `/nowhere:${folder}` })).toBe(join(folder, "chromium"));
    expect(findChromium({ PATH: folder, CHROMIUM_BIN: "/own/chromium" })).toBe("/own/chromium");
  });

  it("is installed where that is possible, and asked for in one sentence where it is not", () => {
    const sentence = /^The tests of pages need Chromium: install it .* or set CHROMIUM_BIN to its path\./;
    expect(() => requireChromium({ PATH: folder }, () => undefined)).toThrow(sentence);
    const refuse = () => {
      throw new Error("no network");
    };
    expect(() => requireChromium({ PATH: folder }, refuse)).toThrow(sentence);
    expect(requireChromium({ PATH: folder }, install)).toBe(join(folder, "chromium"));
  });
});
