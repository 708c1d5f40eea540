import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { toModel } from "../../../src/entries/structure.js";
import { captureWire } from "../../../testing/wire/capture-wire.js";
import { checkWire } from "../../../testing/wire/check-wire.js";
import { type Target, targets } from "./adapters.js";

const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const url = "https://example.com/picture.png";
const [png, wav, pdf] = ["image/png", "audio/wav", "application/pdf"];
const pdfUrl = `data:${pdf};base64,${data}`;

/** The same media in the forms of LangChain's two standards and of each provider. */
const forms: Readonly<Record<string, readonly object[]>> = {
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
};

/** The fate of the user's media by `kind > target`, but for those that were sent once in every form. */
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
  return report;
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
