import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { mediaKinds } from "../../../src/conversation/messages/media.js";
import { toModel } from "../../../src/entries/structure.js";
import { captureWire } from "../../../testing/wire/capture-wire.js";
import { checkWire } from "../../../testing/wire/check-wire.js";
import { type Target, targets } from "./adapters.js";

const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const url = "https://example.com/picture.png";
const [png, wav, pdf, mp4] = ["image/png", "audio/wav", "application/pdf", "video/mp4"];
const pdfUrl = `data:${pdf};base64,${data}`;

/** The same media in the forms of LangChain's two standards and of each provider. */
const forms: Readonly<Record<string, readonly { readonly type: string; readonly [field: string]: unknown }[]>> = {
  image: [
    { type: "image_url", image_url: { url: `data:${png};base64,${data}` } },
    { type: "image", source_type: "base64", mime_type: png, data },
    { type: "image", mimeType: png, data },
    { type: "image", source: { type: "base64", media_type: png, data } },
    { type: "input_image", image_url: `data:${png};base64,${data}`, detail: "auto" },
    { type: "media", mimeType: png, data },
    { type: "inlineData", inlineData: { mimeType: png, data } },
  ],
  link: [
    { type: "image_url", image_url: { url } },
    { type: "image", source_type: "url", url },
    { type: "image", source: { type: "url", url } },
  ],
  audio: [
    { type: "input_audio", input_audio: { data, format: "wav" } },
    { type: "audio", source_type: "base64", mime_type: wav, data },
    { type: "audio", source_type: "base64", mime_type: "audio/mpeg", data },
    { type: "audio", mimeType: wav, data },
    { type: "media", mimeType: wav, data },
    { type: "inlineData", inlineData: { mimeType: wav, data } },
  ],
  file: [
    { type: "file", file: { file_data: pdfUrl, filename: "a.pdf" } },
    { type: "file", source_type: "base64", mime_type: pdf, data, metadata: { filename: "a.pdf" } },
    { type: "file", source_type: "base64", mime_type: pdf, data },
    { type: "file", mimeType: pdf, data },
    { type: "input_file", file_data: pdfUrl, filename: "a.pdf" },
    { type: "document", source: { type: "base64", media_type: pdf, data } },
    { type: "media", mimeType: pdf, data },
  ],
  video: [
    { type: "video", source_type: "base64", mime_type: mp4, data },
    { type: "video", mimeType: mp4, data },
    { type: "media", mimeType: mp4, data },
  ],
  "linked video": [
    { type: "video", mimeType: mp4, url },
    { type: "video", source_type: "url", mime_type: mp4, url },
    { type: "media", mimeType: mp4, fileUri: url },
  ],
  "linked file": [
    { type: "document_url", document_url: url },
    { type: "fileData", fileData: { mimeType: pdf, fileUri: url } },
    { type: "file", source_type: "url", mime_type: pdf, url },
  ],
};

/** The fate of the user's media by `kind > target`, but for those sent once in every form; types without a form. */
export async function mediaReport(): Promise<Record<string, readonly string[]>> {
  const report: Record<string, readonly string[]> = {};
  for (const [kind, blocks] of Object.entries(forms)) {
    for (const target of targets()) {
      const became = new Set<string>();
      for (const block of blocks) {
        became.add(await send(block, target).catch((error: unknown) => `throws: ${String(error)}`));
      }
      if (became.size > 1 || !became.has("sent")) {
        report[`${kind} > ${target.name}`] = [...became];
      }
    }
  }
  const played = Object.values(forms).flatMap((blocks) => blocks.map(({ type }) => type));
  const missing = [...mediaKinds.keys()].filter((type) => !played.includes(type as string));
  return missing.length === 0 ? report : { ...report, "types without a form here": missing as string[] };
}

async function send(block: object, { model }: Target): Promise<string> {
  const asked = new HumanMessage({ content: [{ type: "text", text: "Look." }, block] as never });
  const wire = await captureWire(model, (await toModel([asked], { model })).messages);
  // A document may come again in a later turn.
  const again = await captureWire(model, (await toModel([asked, new AIMessage("Seen."), asked], { model })).messages);
  const [violation] = [wire, again].flatMap(({ kind, body, model: name }) => checkWire(kind, body, { model: name }));
  const text = JSON.stringify(wire.body);
  const times = Math.max(text.split(data).length, text.split(url).length) - 1;
  const note = /\(\w+ left out\)/.exec(text)?.[0];
  return violation?.rule ?? note ?? (times === 1 ? "sent" : `sent ${times} times`);
}
