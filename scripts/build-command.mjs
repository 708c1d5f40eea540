// The command line: one program with all that it needs but the packages that users of the library have anyway. What a
// single command needs is loaded when that command runs.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Bundles the command of the project at `root` into `folder`. */
export async function buildCommand(root, folder) {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const installed = Object.keys({ ...dependencies, ...peerDependencies });
  await build({
    entryPoints: [join(root, "cli", "main.ts")],
    outdir: folder,
    bundle: true,
    splitting: true,
    chunkNames: "[name]-[hash]",
    format: "esm",
    platform: "node",
    target: "node20",
    minify: true,
    legalComments: "linked",
    external: installed.flatMap((name) => [name, `${name}/*`]),
    // Some of the bundled packages are CommonJS and require modules of Node.js.
    banner: { js: `import { createRequire } from "node:module";const require = createRequire(import.meta.url);` },
    logLevel: "warning",
  });
  await buildInspectorPage(join(root, "cli", "inspector", "page"), join(folder, "inspector"));
  const conversations = "recorded-conversations.jsonl";
  cpSync(join(root, "examples", "data", conversations), join(folder, "data", conversations));
}

/** The page that `inspect` serves: three files, which load nothing else. */
async function buildInspectorPage(source, folder) {
  await build({
    entryPoints: [join(source, "app.tsx"), join(source, "app.css")],
    outdir: folder,
    bundle: true,
    format: "iife",
    platform: "browser",
    target: ["chrome109", "firefox115", "safari16.4"],
    minify: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "linked",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
  });
  cpSync(join(source, "index.html"), join(folder, "index.html"));
}
