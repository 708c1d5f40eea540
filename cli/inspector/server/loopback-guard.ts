import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Why a request is refused: the status, and a sentence. */
export interface Refusal {
  readonly status: number;
  readonly sentence: string;
}

/** The values that a request must carry. */
export interface Admission {
  readonly port: number;
  readonly token: string;
}

/** The path behind the token, and the query; or why there is none. */
export type Admitted = { readonly path: string; readonly query: URLSearchParams } | Refusal;

/**
 * Lets a request in that names this computer as its host (another name that was made to point here does not: DNS
 * rebinding), carries the token, comes from no other site, and only reads.
 */
export function admit(request: IncomingMessage, { port, token }: Admission): Admitted {
  const { method, headers, url = "/" } = request;
  if (headers.host !== `127.0.0.1:${port}` && headers.host !== `localhost:${port}`) {
    return { status: 421, sentence: "This address is not served here." };
  }
  const [, candidate = "", path = "", query = ""] = /^\/([^/?#]*)(?:\/([^?#]*))?(?:\?(.*))?$/s.exec(url) ?? [];
  if (!isSame(candidate, token)) {
    return { status: 403, sentence: "The address lacks the token that the command printed." };
  }
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    return { status: 403, sentence: "Other sites may not ask." };
  }
  if (method !== "GET") {
    return { status: 405, sentence: "The inspector only reads." };
  }
  return { path, query: new URLSearchParams(query) };
}

/** Compares hashes, which have one length, in constant time. */
function isSame(candidate: string, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(candidate), hash(token));
}

/** Headers of every answer. Nothing is loaded but the page's own files; media only where they are in the message. */
export const protectiveHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src data:",
    "media-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};
