import type { Media } from "./media.js";

/** OpenAI takes the two formats alone, and no address. */
export function audioPart({ kind, data, mimeType }: Media): object | undefined {
  const format = /^audio\/(?:x-)?(wav|mp3|mpeg)\b/.exec(mimeType ?? "")?.[1];
  return kind === "audio" && data !== undefined && format !== undefined
    ? { type: "input_audio", input_audio: { data, format: format === "mpeg" ? "mp3" : format } }
    : undefined;
}

/** A file by the id that the provider gave it, or with its data; undefined where it has neither. */
export function filePart({ kind, data, mimeType, fileId, name = "file" }: Media): object | undefined {
  if (kind !== "file" || (!data && fileId === undefined)) {
    return undefined;
  }
  return {
    type: "file",
    file: !data ? { file_id: fileId } : { file_data: dataUrl(data, mimeType), filename: name },
  };
}

/** A data URL; without a type, that of a PDF. */
export function dataUrl(data: string, mimeType = "application/pdf"): string {
  return `data:${mimeType};base64,${data}`;
}
