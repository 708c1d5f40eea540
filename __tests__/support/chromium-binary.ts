import { delimiter, join } from "node:path";
import { canInstall, installDebianPackage, isExecutable } from "../../tools/testkit/servers/redis-binary.js";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of a Chromium: CHROMIUM_BIN, or one on the PATH; undefined where there is none. */
export function findChromium(environment: Readonly<Record<string, string | undefined>> = process.env) {
  const named = environment["CHROMIUM_BIN"];
  if (named !== undefined && named !== "") {
    return named;
  }
  const folders = (environment["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable);
}

/** The same, installing Debian's package where that is possible; an error with one sentence where it is not. */
export function requireChromium(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  install: (() => void) | undefined = canInstall() ? () => installDebianPackage("chromium", "chromium") : undefined,
): string {
  const sentence =
    "The tests of pages need Chromium: install it (for example `apt-get install chromium`) or set " +
    "CHROMIUM_BIN to its path.";
  const found = findChromium(environment);
  if (found !== undefined) {
    return found;
  }
  try {
    install?.();
  } catch (cause) {
    throw new Error(`${sentence} Installing it failed.`, { cause });
  }
  const installed = findChromium(environment);
  if (installed === undefined) {
    throw new Error(sentence);
  }
  return installed;
}
