import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

const root = join(__dirname, "../..");

/** Programs that run with plain Node.js. */
export interface BuiltPrograms {
  /** Where the program of this source stands. */
  pathOf(source: string): string;
  remove(): void;
}

/** How to build programs. */
export interface ProgramSettings {
  /** True to bundle installed packages too: the build takes longer, each process a third. @default false */
  readonly withPackages?: boolean;
}

/**
 * Bundles TypeScript programs in folders of this project, with the sources of the package that they import. Paths begin
 * at the project's folder.
 *
 * A process that loads them through tsx takes three seconds of CPU, one that loads the bundle less than one.
 */
export async function buildPrograms(
  sources: readonly string[],
  { withPackages = false }: ProgramSettings = {},
): Promise<BuiltPrograms> {
  mkdirSync(join(root, ".cache"), { recursive: true });
  const folder = mkdtempSync(join(root, ".cache", "programs-"));
  await build({
    entryPoints: sources.map((source) => resolve(root, source)),
    outbase: root,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    tsconfig: join(root, "tsconfig.json"),
    external: withPackages ? [] : installedPackages().flatMap((name) => [name, `${name}/*`]),
    ...(withPackages && { banner: { js: requireOfPackages } }),
    plugins: [ownUrls],
    logLevel: "warning",
  });
  return {
    pathOf: (source) => join(folder, relative(root, resolve(root, source)).replace(/\.m?ts$/, ".mjs")),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** What packages in CommonJS call in a bundle that is an ES module. */
const requireOfPackages =
  'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);';

function installedPackages(): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<string, object>;
  const { dependencies, devDependencies, peerDependencies } = manifest;
  return Object.keys({ ...dependencies, ...devDependencies, ...peerDependencies });
}

/** Lets programs find the files beside their sources. */
const ownUrls: Plugin = {
  name: "own-urls",
  setup: ({ onLoad }) => {
    onLoad({ filter: /[/\\](examples|src|cli|testing)[/\\].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: text.replaceAll("import.meta.url", url), loader: "ts" };
    });
  },
};
