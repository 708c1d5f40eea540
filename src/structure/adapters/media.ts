import { mediaKinds, type Block, type MediaKind } from "../../messages/content.js";
import { type Fields, fieldsOf, isRecord, stringIn } from "../../messages/values.js";

/** A picture, a recording or a file in one of the forms of adapters. */
export interface Media {
  readonly kind: MediaKind;
  readonly mimeType: string | undefined;
  /** Base64. */
  readonly data: string | undefined;
  readonly url: string | undefined;
}

/** Further forms of media, which only adapters hold. */
const adapterKinds: ReadonlyMap<string, MediaKind> = new Map([
  ["document_url", "file"],
  ["inlineData", "file"],
  ["fileData", "file"],
]);

/** The media in a block; undefined for other blocks. */
export function mediaIn(block: Block): Media | undefined {
  const kind = mediaKinds.get(block.type) ?? adapterKinds.get(block.type);
  if (kind === undefined) {
    return undefined;
  }
  const held = fieldsIn(block);
  const url = stringIn(held["url"]) ?? stringIn(held["fileUri"]);
  const inUrl = url === undefined ? null : /^data:([^;,]*);base64,(.*)$/s.exec(url);
  const mimeType = inUrl?.[1] ?? mimeTypeIn(held);
  const [family] = (mimeType ?? "").split("/");
  return {
    kind: kind === "file" && (family === "image" || family === "audio" || family === "video") ? family : kind,
    mimeType,
    data: inUrl?.[2] ?? stringIn(held["data"]),
    url: inUrl === null ? url : undefined,
  };
}

function mimeTypeIn(held: Fields): string | undefined {
  return [held["mimeType"], held["mime_type"], held["media_type"]].map(stringIn).find((type) => type !== undefined);
}

/** The record that holds the data: the block itself, or one inside it. */
function fieldsIn(block: Block): Fields {
  const { image_url: image, source, inlineData, fileData } = block as Fields;
  if (typeof image === "string") {
    return { url: image };
  }
  return fieldsOf([image, source, inlineData, fileData].find(isRecord) ?? block);
}

/** A note in the place of media that an adapter or a provider does not take. */
export function mediaLeftOut({ kind }: Media): Block {
  return { type: "text", text: `(${kind} left out)` } as Block;
}

/** A picture in the form that every adapter takes from the user; undefined where nothing holds it. */
export function imageBlock({ data, mimeType, url }: Media): Block | undefined {
  const address = data === undefined ? url : `data:${mimeType ?? "image/png"};base64,${data}`;
  return address === undefined ? undefined : ({ type: "image_url", image_url: { url: address } } as unknown as Block);
}
