import type { CallIdForm } from "./profile.js";

/** The letters and digits of ASCII. */
export const alphanumerics = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** The characters that most providers accept in ids and names. */
export const identifiers = `${alphanumerics}_-`;

/** Types of the user's blocks in LangChain's forms. */
export const userMedia = ["text", "image_url", "image", "audio", "video", "file", "media", "text-plain"];

/** True if the id has the form; without a form all ids do. */
export function fitsForm(id: string, form: CallIdForm = {}): boolean {
  const { characters, minLength = 0, maxLength = Infinity } = form;
  const isLong = id.length >= minLength && id.length <= maxLength;
  return isLong && (characters === undefined || [...id].every((character) => characters.includes(character)));
}
