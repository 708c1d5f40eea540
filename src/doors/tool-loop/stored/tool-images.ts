import type { ToolResult } from "../turn/tool-results.js";
import type { StoredHistory } from "./history.js";
import { bytesOf, type Upload, type UploadLimits } from "./uploads.js";

/** The name of an image that a tool gave, as the model reads it. */
function toolImageName({ callId, name }: Pick<ToolResult, "callId" | "name">): string {
  return `Image from tool call ${callId} (${name})`;
}

/** A turn's tool results, whose images are to be stored. */
interface TurnImages {
  readonly turnId: string;
  readonly results: readonly ToolResult[];
  readonly limits: UploadLimits;
}

/**
 * The images of a turn's tool results as uploads, apart from the user's message. The newest stay: older ones of tools
 * are removed for them, the user's uploads never, and one that is too large by itself is not stored.
 */
export function withToolImages(
  known: readonly Upload[],
  { turnId, results, limits }: TurnImages,
): { readonly added: readonly Upload[]; readonly removed: readonly string[] } {
  const first = known.reduce((next, { sequence }) => Math.max(next, sequence + 1), 0);
  const images = results
    .flatMap((result) =>
      result.images.map((url, index) => toolImage(url, { ...result, id: `${turnId}:${result.callId}:${index}` })),
    )
    .map((image, index) => ({ ...image, sequence: first + index }));
  const small = images.filter((image) => bytesOf(image) <= limits.maxUploadBytes);
  const all = [...known, ...small];
  let total = all.reduce((sum, upload) => sum + bytesOf(upload), 0);
  const gone = new Set<Upload>();
  for (const upload of all) {
    if (upload.isOfTool === true && total > limits.maxUploadsBytes) {
      gone.add(upload);
      total -= bytesOf(upload);
    }
  }
  return {
    added: small.filter((image) => !gone.has(image)),
    removed: known.filter((upload) => gone.has(upload)).map(({ id }) => id),
  };
}

/** Without images of tools whose question is not in the view any more; the user's uploads stay in sight. */
export function shownUploads(uploads: readonly Upload[], { earlier, current }: StoredHistory): Upload[] {
  const inView = new Set([...earlier, ...(current === undefined ? [] : [current])].map(({ id }) => id));
  return uploads.filter(({ isOfTool, messageId }) => isOfTool !== true || inView.has(messageId));
}

const shown = new WeakMap<ToolResult, readonly Upload[]>();

/** The images of a tool result of this turn, as they are shown with its question; the same objects each time. */
export function imagesOf(result: ToolResult): readonly Upload[] {
  const images =
    shown.get(result) ??
    result.images.map((url, index) => ({
      ...toolImage(url, { ...result, id: `${result.callId}:${index}` }),
      sequence: 0,
    }));
  shown.set(result, images);
  return images;
}

function toolImage(
  url: string,
  of: Pick<ToolResult, "callId" | "name"> & { readonly id: string },
): Omit<Upload, "sequence"> {
  const mimeType = /^data:(image\/[^;,]+)/.exec(url)?.[1] ?? "image/*";
  return { id: `tool-image:${of.id}`, name: toolImageName(of), mimeType, url, isOfTool: true };
}
