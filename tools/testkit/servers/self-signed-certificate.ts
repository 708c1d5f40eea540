import { generateKeyPairSync, sign } from "node:crypto";

/** A certificate for a host that signs itself, valid for a day, and its key; both in PEM. */
export function selfSignedCertificate(host: string): { readonly cert: string; readonly key: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(0x30, [identifier("2a8648ce3d040302")]);
  const name = der(0x30, [der(0x31, [der(0x30, [identifier("550403"), der(0x0c, [Buffer.from(host)])])])]);
  const day = 86_400_000;
  const validity = der(0x30, [time(Date.now() - day), time(Date.now() + day)]);
  const key = publicKey.export({ type: "spki", format: "der" });
  const serial = der(0x02, [Buffer.from([1])]);
  const body = der(0x30, [serial, algorithm, name, validity, name, key]);
  const signature = sign("sha256", body, privateKey);
  const certificate = der(0x30, [body, algorithm, der(0x03, [Buffer.from([0]), signature])]);
  const lines = certificate.toString("base64").replace(/.{64}/g, "$&\n").trimEnd();
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

function identifier(hex: string): Buffer {
  return der(0x06, [Buffer.from(hex, "hex")]);
}

function time(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replace(/\D/g, "").slice(0, 14);
  return der(0x18, [Buffer.from(`${digits}Z`)]);
}

/** One value in ASN.1's DER: tag, length, content. */
function der(tag: number, parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
