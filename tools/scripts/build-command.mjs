// The command line: one program with all that it needs but the packages that users of the library have anyway. What a
// single command needs is loaded when that command runs.
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

/** Bundles the command of the project at `root` into `folder`. */
export async function buildCommand(root, folder) {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const installed = Object.keys({ ...dependencies, ...peerDependencies });
  const program = await build({
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
    metafile: true,
    // Some of the bundled packages are CommonJS and require modules of Node.js.
    banner: { js: `import { createRequire } from "node:module";const require = createRequire(import.meta.url);` },
    logLevel: "warning",
  });
  const page = await buildInspectorPage(join(root, "cli", "inspector", "page"), join(folder, "inspector"));
  writeFileSync(join(folder, "THIRD-PARTY-NOTICES.txt"), noticesOf(root, [program, page]));
  const conversations = "recorded-conversations.jsonl";
  cpSync(join(root, "examples", "data", conversations), join(folder, "data", conversations));
}

/** The page that `inspect` serves: three files, which load nothing else. */
async function buildInspectorPage(source, folder) {
  const page = await build({
    entryPoints: [join(source, "app.tsx"), join(source, "app.css")],
    outdir: folder,
    bundle: true,
    format: "iife",
    platform: "browser",
    target: ["chrome109", "firefox115", "safari16.4"],
    minify: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    metafile: true,
    legalComments: "linked",
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
  });
  cpSync(join(source, "index.html"), join(folder, "index.html"));
  return page;
}

/** The name, version and licence of each package that the bundles hold. */
function noticesOf(root, bundles) {
  const files = bundles.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const folders = files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  const notices = [...new Set(folders)].sort().map((path) => {
    const place = join(root, path);
    const { name, version, license } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
    const file = readdirSync(place).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) {
      throw new Error(`${name} ${version} is bundled and has no licence beside it.`);
    }
    return `${name} ${version} (${license})\n\n${readFileSync(join(place, file), "utf8").trim()}\n`;
  });
  return `The command and its inspector hold these packages.\n\n${notices.join(`\n${"-".repeat(80)}\n\n`)}`;
}
