// Runs the tests with each Node.js and each Redis or Valkey that is installed here, and says which of the supported
// versions were left out because they are not. ioredis 5 and 6 are in every run of the tests, and the lowest and the
// newest peers in the check of the package.
//
// Usage: npm run test:matrix -- [--list]
// MATRIX_NODES and MATRIX_SERVERS name more programs, separated by colons. `npm run test:servers` fetches servers.
import { execFileSync, spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const supportedNodes = ["20", "22", "24"];
const supportedServers = ["Redis 6.2", "Redis 7", "Redis 8", "Valkey 8"];

const { list } = parseArgs({ options: { list: { type: "boolean", default: false } } }).values;
const nodes = newestOf(nodePrograms(), nodeVersion);
const servers = newestOf(serverPrograms(), serverVersion);
const node = nodes.get(process.versions.node.split(".")[0]) ?? process.execPath;
const server = [...servers.values()][0];
const jest = resolve("node_modules/jest/bin/jest.js");

/** Each Node.js with one server, and one Node.js with each of the others. */
const runs = [
  ...[...nodes].flatMap(([version, program]) => [
    { title: `all tests on Node.js ${version}`, program, server, args: [jest] },
    { title: `the package on Node.js ${version}`, program, server, args: ["tools/scripts/package-smoke.mjs"] },
  ]),
  ...[...servers].slice(1).map(([version, other]) => ({
    ...{ title: `the tests with ${version}`, program: node, server: other },
    args: [jest, "--selectProjects", "redis"],
  })),
];
const missing = [
  ...supportedNodes.filter((version) => !nodes.has(version)).map((version) => `Node.js ${version}`),
  ...supportedServers.filter((version) => ![...servers.keys()].some((found) => isVersion(found, version))),
];

const failed = list ? [] : runs.filter((one) => !passes(one)).map(({ title }) => title);
runs.forEach(({ title }) =>
  console.log(`${list ? "would run" : failed.includes(title) ? "FAILED" : "passed"}: ${title}`),
);
missing.forEach((version) => console.log(`left out, because it is not installed: ${version}`));
process.exitCode = failed.length === 0 ? 0 : 1;

function passes({ title, program, server: binary, args }) {
  console.log(`\n== ${title}`);
  const env = {
    ...process.env,
    PATH: [dirname(program), process.env["PATH"]].join(delimiter),
    ...(binary && { REDIS_SERVER_BIN: binary }),
  };
  return spawnSync(program, args, { stdio: "inherit", env }).status === 0;
}

function isVersion(found, wanted) {
  return found === wanted || found.startsWith(`${wanted}.`);
}

/** The first program of each version that can be asked for it. */
function newestOf(programs, versionOf) {
  const found = new Map();
  for (const program of programs) {
    const version = versionOf(program);
    if (version !== undefined && !found.has(version)) {
      found.set(version, program);
    }
  }
  return found;
}

function nodeVersion(program) {
  return /^v(\d+)\./.exec(answer(program, "--version"))?.[1];
}

function serverVersion(program) {
  const text = answer(program, "--version");
  const [, version] = /\bv=(\d+\.\d+)/.exec(text) ?? [];
  return version && `${/valkey/i.test(text) ? "Valkey" : "Redis"} ${version}`;
}

function answer(program, ...args) {
  try {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

function nodePrograms() {
  const managed = [
    join(process.env["NVM_DIR"] ?? join(homedir(), ".nvm"), "versions", "node"),
    join(homedir(), ".volta", "tools", "image", "node"),
    "/usr/local/n/versions/node",
  ];
  return [
    process.execPath,
    ...named("MATRIX_NODES"),
    ...managed.flatMap((folder) => below(folder).map((version) => join(folder, version, "bin", "node"))),
    ...onPath("node"),
  ].filter(isExecutable);
}

function serverPrograms() {
  const fetched = below(".cache/servers").map((name) => resolve(".cache/servers", name, "redis-server"));
  return [
    ...named("REDIS_SERVER_BIN"),
    ...named("MATRIX_SERVERS"),
    ...onPath("redis-server"),
    ...onPath("valkey-server"),
    resolve(".cache/redis-server"),
    ...fetched,
  ].filter(isExecutable);
}

function named(variable) {
  return (process.env[variable] ?? "").split(delimiter).filter((program) => program !== "");
}

function onPath(name) {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return [
    ...new Set(
      folders
        .map((folder) => join(folder, name))
        .filter(isExecutable)
        .map((file) => realOf(file, name)),
    ),
  ];
}

/** Debian's redis-server is a link to a program that goes by its name. */
function realOf(file, name) {
  return name === "node" ? realpathSync(file) : file;
}

/** The newest version first. */
function below(folder) {
  return existsSync(folder) ? readdirSync(folder).sort().reverse() : [];
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
