import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { selfSignedCertificate } from "./self-signed-certificate.js";

/** Certificates in files, for servers that speak TLS to clients and to each other. */
export interface TlsFiles {
  /** The option `tls` of an ioredis client; with a certificate of its own where servers ask for one. */
  readonly client: TlsOfClient;
  /** The options of a server, in the form of a configuration file, with the port on which it speaks TLS. */
  lines(port: number): string[];
  /** The same as arguments of the command. */
  args(port: number): string[];
  remove(): void;
}

interface TlsOfClient {
  readonly ca: string;
  readonly servername: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Writes the files; each certificate is its own authority. Servers ask clients for one where `asksClients` is true. */
export function tlsFiles({ asksClients = false }: { readonly asksClients?: boolean } = {}): TlsFiles {
  const folder = mkdtempSync(join(tmpdir(), "lcmem-tls-"));
  const host = "localhost";
  const { cert, key } = selfSignedCertificate(host);
  const client = asksClients ? selfSignedCertificate("client") : undefined;
  const written = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const [certFile, keyFile] = [written("cert.pem", cert), written("key.pem", key)];
  const authorities = client === undefined ? certFile : written("authorities.pem", `${cert}\n${client.cert}`);
  const options = (port: number): [string, string][] => [
    ["tls-port", String(port)],
    ["tls-cert-file", certFile],
    ["tls-key-file", keyFile],
    ["tls-ca-cert-file", authorities],
    ["tls-auth-clients", asksClients ? "yes" : "no"],
    ["tls-replication", "yes"],
  ];
  return {
    client: { ca: cert, servername: host, ...client },
    lines: (port) => options(port).map(([name, value]) => `${name} ${value}`),
    args: (port) => options(port).flatMap(([name, value]) => [`--${name}`, value]),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
