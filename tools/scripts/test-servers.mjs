/**
 * Runs the tests with Redis on every version of Redis and Valkey that Debian has: those that are named, or all of
 * them. Needs Debian; downloads the packages with their libraries into .cache/servers and installs nothing.
 *
 * Usage: npm run test:servers -- [redis-8.0 valkey-8.1 …]
 */
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Package, release of Debian, and the program in it that is the server. */
const servers = [
  { name: "redis-7.0", suite: "bookworm", tools: "redis-tools", program: "redis-check-rdb" },
  { name: "valkey-8.0", suite: "bookworm-backports", tools: "valkey-tools", program: "valkey-check-rdb" },
  { name: "redis-8.0", suite: "trixie", tools: "redis-tools", program: "redis-check-rdb" },
  { name: "valkey-8.1", suite: "trixie", tools: "valkey-tools", program: "valkey-check-rdb" },
  { name: "valkey-9", suite: "sid", tools: "valkey-tools", program: "valkey-check-rdb" },
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !servers.some((server) => server.name === name));
if (unknown.length > 0 || !existsSync("/etc/debian_version")) {
  const names = servers.map(({ name }) => name).join(", ");
  process.stderr.write(`Needs Debian, and names of ${names}; got ${unknown.join(", ") || "no Debian"}.\n`);
  process.exit(2);
}

const failed = [];
for (const server of servers.filter(({ name }) => asked.length === 0 || asked.includes(name))) {
  const binary = fetched(server);
  const version = execFileSync(binary, ["--version"], { encoding: "utf8" }).split(" sha=")[0];
  process.stdout.write(`\n== ${server.name}: ${version.trim()}\n`);
  const env = { ...process.env, REDIS_SERVER_BIN: binary };
  const { status } = spawnSync("npx", ["jest", "--selectProjects", "redis"], { stdio: "inherit", env });
  if (status !== 0) {
    failed.push(server.name);
  }
}
process.stdout.write(failed.length === 0 ? "\nAll versions passed.\n" : `\nFailed: ${failed.join(", ")}\n`);
process.exit(failed.length === 0 ? 0 : 1);

/** The path of a script that starts the server with the libraries of its own release. */
function fetched({ name, suite, tools, program }) {
  const folder = resolve(".cache/servers", name);
  const binary = join(folder, "redis-server");
  if (existsSync(binary)) {
    return binary;
  }
  const root = join(folder, "root");
  for (const part of ["lists/partial", "cache/archives/partial", "root"]) {
    mkdirSync(join(folder, part), { recursive: true });
  }
  // With an empty list of what is installed, apt fetches every library too, of the same release.
  writeFileSync(join(folder, "status"), "");
  const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
  const base = suite.replace("-backports", "");
  const suites = base === suite ? [suite] : [base, suite];
  writeFileSync(
    join(folder, "sources.list"),
    suites.map((entry) => `deb [signed-by=${keyring}] ${mirror()} ${entry} main\n`).join(""),
  );
  const options = [
    ...["-qq", "-o", `Dir::Etc::sourcelist=${folder}/sources.list`, "-o", "Dir::Etc::sourceparts=-"],
    ...["-o", `Dir::State::lists=${folder}/lists`, "-o", `Dir::Cache=${folder}/cache`],
    ...["-o", `Dir::State::status=${folder}/status`, "-o", "APT::Sandbox::User=root"],
  ];
  const run = (...args) => execFileSync("apt-get", [...options, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  run("update");
  const release = base === suite ? [] : ["-t", suite];
  run("install", "-y", "--download-only", "--no-install-recommends", ...release, tools);
  for (const archive of readdirSync(join(folder, "cache/archives")).filter((file) => file.endsWith(".deb"))) {
    execFileSync("dpkg", ["-x", join(folder, "cache/archives", archive), root]);
  }
  // The program is server or checker by the name that it is called by; exec keeps the name.
  const find = (...tests) =>
    execFileSync("find", [root, ...tests], { encoding: "utf8" })
      .trim()
      .split("\n");
  const [loader] = find("-name", "ld-linux-*.so.*", "-type", "f");
  const libraries = find("-name", "*-linux-gnu", "-type", "d", "-path", "*lib/*").join(":");
  const line = `exec "${loader}" --argv0 redis-server --library-path "${libraries}" "${root}/usr/bin/${program}" "$@"`;
  writeFileSync(binary, `#!/bin/sh\n${line}\n`);
  chmodSync(binary, 0o755);
  return binary;
}

/** The mirror that this machine uses for Debian. */
function mirror() {
  const format = "$(REPO_URI) $(ORIGIN)";
  const lines = execFileSync("apt-get", ["indextargets", "--format", format], { encoding: "utf8" }).split("\n");
  return lines.find((line) => line.endsWith(" Debian") && !line.includes("security")).split(" ")[0];
}
