import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import webpack from "webpack";

const folder = fileURLToPath(new URL("..", import.meta.url));
const peers = /^(@langchain\/(core|openai)|ioredis|langchain)(\/|$)|^node:/;

/** The files of a bundle: how many bytes each takes, and which others it imports at its start. */
type Files = ReadonlyMap<string, { readonly bytes: number; readonly imports: readonly string[] }>;

/** The bytes of a bundle, and of those of its files that its start loads. */
export interface BundleSize {
  readonly atStart: number;
  readonly total: number;
}

/** Bundles a module as production builds do, minified, with the peer dependencies left outside. */
export const bundlers: Readonly<Record<string, (code: string) => Promise<BundleSize>>> = {
  esbuild: byEsbuild,
  webpack: byWebpack,
  Vite: byVite,
};

async function byEsbuild(contents: string): Promise<BundleSize> {
  const { metafile } = await esbuild({
    stdin: { contents, resolveDir: folder, loader: "js" },
    external: ["@langchain/core", "@langchain/core/*", "ioredis", "langchain", "@langchain/openai"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    splitting: true,
    outdir: "out",
    write: false,
    metafile: true,
    logLevel: "error",
  });
  const files = Object.entries(metafile.outputs).map(([file, { bytes, imports }]) => {
    const own = imports.filter(({ kind, external }) => kind === "import-statement" && external !== true);
    return [file, { bytes, imports: own.map(({ path }) => path) }] as const;
  });
  return sizeOf(new Map(files), files.find(([file]) => file.endsWith("stdin.js"))![0]);
}

async function byVite(contents: string): Promise<BundleSize> {
  const entry = "virtual:entry";
  const result = await vite({
    root: folder,
    configFile: false,
    logLevel: "error",
    ssr: { noExternal: true },
    build: { ssr: true, write: false, minify: true, rollupOptions: { input: entry, external: peers } },
    plugins: [
      { name: "entry", resolveId: (id) => (id === entry ? id : null), load: (id) => (id === entry ? contents : null) },
    ],
  });
  const { output } = result as Exclude<typeof result, { readonly close: unknown } | readonly unknown[]>;
  const chunks = output.flatMap((file) => (file.type === "chunk" ? [file] : []));
  const bytes = ({ code }: { readonly code: string }) => Buffer.byteLength(code);
  const files = new Map(chunks.map((chunk) => [chunk.fileName, { bytes: bytes(chunk), imports: chunk.imports }]));
  return sizeOf(files, chunks.find(({ isEntry }) => isEntry)!.fileName);
}

async function byWebpack(contents: string): Promise<BundleSize> {
  const path = mkdtempSync(join(tmpdir(), "bundle-"));
  const compiler = webpack({
    context: folder,
    mode: "production",
    target: "node20",
    entry: { start: `data:text/javascript,${encodeURIComponent(contents)}` },
    externals: [({ request = "" }, done) => (peers.test(request) ? done(undefined, `module ${request}`) : done())],
    output: { module: true, library: { type: "module" }, path },
  });
  try {
    const stats = await promisify(compiler.run.bind(compiler))();
    const shown = stats!.toJson({ all: false, assets: true, entrypoints: true, errors: true });
    assert.deepEqual(shown.errors, []);
    const total = shown.assets!.reduce((sum, { size }) => sum + size, 0);
    return { atStart: shown.entrypoints!["start"]!.assetsSize!, total };
  } finally {
    rmSync(path, { recursive: true });
  }
}

function sizeOf(files: Files, entry: string): BundleSize {
  const atStart = new Set([entry]);
  atStart.forEach((file) => files.get(file)?.imports.forEach((imported) => atStart.add(imported)));
  const bytes = (names: Iterable<string>) => [...names].reduce((sum, name) => sum + (files.get(name)?.bytes ?? 0), 0);
  return { atStart: bytes(atStart), total: bytes(files.keys()) };
}
