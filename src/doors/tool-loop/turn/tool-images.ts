import type { Upload } from "../stored/uploads.js";
import type { ToolResult } from "./tool-results.js";

const shown = new WeakMap<ToolResult, readonly Upload[]>();

/** The images of a tool result of this turn, as they are shown with its question; the same objects each time. */
export function imagesOf(result: ToolResult): readonly Upload[] {
  const { callId, name, images } = result;
  const uploads =
    shown.get(result) ??
    images.map((url, index) => ({
      ...{ id: `tool-image:${callId}:${index}`, name: `Image from tool call ${callId} (${name})`, sequence: 0 },
      ...{ mimeType: /^data:(image\/[^;,]+)/.exec(url)?.[1] ?? "image/*", url, isOfTool: true },
    }));
  shown.set(result, uploads);
  return uploads;
}
