import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSignedCertificate } from "./self-signed-certificate.js";

/** A certificate in files, for servers that speak TLS to clients and to each other. */
export interface TlsFiles {
  /** What a client of ioredis takes as `tls`. */
  readonly client: { readonly ca: string; readonly servername: string };
  /** The options of a server, in the form of a configuration file, with the port on which it speaks TLS. */
  lines(port: number): string[];
  /** The same as arguments of the command. */
  args(port: number): string[];
  remove(): void;
}

/** Writes the files; the certificate is its own authority. */
export function tlsFiles(): TlsFiles {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-tls-"));
  const host = "localhost";
  const { cert, key } = selfSignedCertificate(host);
  const written = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [certFile, keyFile] = [written("cert.pem", cert), written("key.pem", key)];
  const options = (port: number): [string, string][] => [
    ["tls-port", String(port)],
    ["tls-cert-file", certFile],
    ["tls-key-file", keyFile],
    ["tls-ca-cert-file", certFile],
    ["tls-auth-clients", "no"],
    ["tls-replication", "yes"],
  ];
  return {
    client: { ca: cert, servername: host },
    lines: (port) => options(port).map(([name, value]) => `${name} ${value}`),
    args: (port) => options(port).flatMap(([name, value]) => [`--${name}`, value]),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
