import type { Problem } from "../model/data.js";

/** The server refused, or cannot be reached; the message is a sentence for the reader. */
export class RequestError extends Error {
  override readonly name = "RequestError";
}

/** Asks the inspector's server. The address of the page holds the token, and requests are relative to it. */
export async function getJson<T>(path: string, parameters: Readonly<Record<string, string | number>> = {}): Promise<T> {
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(addressOf(path, parameters));
    body = await response.json();
  } catch {
    throw new RequestError("The inspector does not answer. Check that the command still runs, and reload the page.");
  }
  if (!response.ok) {
    throw new RequestError((body as Problem).error);
  }
  return body as T;
}

/** The address of a request. */
export function addressOf(path: string, parameters: Readonly<Record<string, string | number>> = {}): string {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]));
  return `api/${path}?${query.toString()}`;
}
