import { AIMessage, HumanMessage, type MessageContent } from "@langchain/core/messages";
import { imageTokens, messageCost, imageSize } from "../../src/conversation/tokens/formulas/message-cost.js";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const onePixel = 85 + 170;
const unknownImage = 765;

/** Texts and tokens of a content, without the message's own. */
function costOf(content: unknown): { texts: readonly string[]; tokens: number } {
  const { texts, tokens } = messageCost(new HumanMessage({ content: content as MessageContent }));
  return { texts: texts.slice(1), tokens: tokens - 3 };
}

describe("imageTokens follows OpenAI's published examples", () => {
  it.each([
    [1_024, 1_024, "high", 765],
    [2_048, 4_096, "high", 1_105],
    [4_096, 8_192, "low", 85],
    [512, 512, "auto", 255],
    [513, 512, undefined, 425],
    [1, 1, undefined, 255],
    [1_536, 768, "high", 1_105],
    [20_000, 100, "high", 765],
  ])("%d × %d in detail %s: %d tokens", (width, height, detail, tokens) => {
    expect(imageTokens({ width, height }, detail)).toBe(tokens);
  });
});

describe("content costs", () => {
  it.each([
    ["a string", "hello", ["hello"]],
    [
      "text blocks",
      [{ type: "text", text: "a" }, { type: "input_text", text: "b" }, { type: "output_text", text: "c" }, "d"],
      ["a", "b", "c", "d"],
    ],
    ["a refusal", [{ type: "refusal", refusal: "no" }], ["no"]],
    ["Anthropic's thinking, without its signature", [{ type: "thinking", thinking: "hm", signature: "xyz" }], ["hm"]],
    ["reasoning", [{ type: "reasoning", reasoning: "hm" }], ["hm"]],
    [
      "OpenAI's reasoning by its summary",
      [{ type: "reasoning", summary: [{ type: "summary_text", text: "so" }], encrypted_content: "xyz" }],
      ["so"],
    ],
    [
      "a tool result in Anthropic's form",
      [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "42" }] }],
      ["t1", "42"],
    ],
    [
      "a document's text",
      [{ type: "document", source: { type: "text", media_type: "text/plain", data: "body" } }],
      ["body"],
    ],
    ["a plain text block", [{ type: "text-plain", text: "body", mimeType: "text/plain" }], ["body"]],
    ["a text block in the older standard form", [{ type: "file", source_type: "text", text: "body" }], ["body"]],
    ["a foreign block as its JSON", [{ type: "quark", spin: 1 }], ['{"type":"quark","spin":1}']],
    ["a non-standard block as its value's JSON", [{ type: "non_standard", value: { a: 1 } }], ['{"a":1}']],
    ["nothing for no content", undefined, []],
    ["nothing for a null in a list", [null], []],
  ])("%s", (_, content, texts) => {
    expect(costOf(content)).toEqual({ texts, tokens: 0 });
  });

  it("counts results within results however deep they nest, and what holds itself once", () => {
    let content: unknown[] = ["innermost"];
    for (let depth = 0; depth < 50_000; depth += 1) {
      content = [{ type: "tool_result", content }];
    }
    expect(costOf(content)).toEqual({ texts: ["innermost"], tokens: 0 });
    const loop: unknown[] = ["once"];
    loop.push({ type: "tool_result", content: loop }, { type: "tool_result", content: loop });
    expect(costOf(loop)).toEqual({ texts: ["once"], tokens: 0 });
  });

  it.each([
    [
      "OpenAI's image_url with data",
      { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
      onePixel,
    ],
    ["the same as a bare string", { type: "image_url", image_url: `data:image/png;base64,${pixel}` }, onePixel],
    [
      "OpenAI's image_url with a link",
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      unknownImage,
    ],
    ["low detail", { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}`, detail: "low" } }, 85],
    [
      "OpenAI's input_image",
      { type: "input_image", image_url: `data:image/png;base64,${pixel}`, detail: "high" },
      onePixel,
    ],
    ["LangChain's image block", { type: "image", data: pixel, mimeType: "image/png" }, onePixel],
    ["the same with bytes", { type: "image", data: Uint8Array.from(Buffer.from(pixel, "base64")) }, onePixel],
    ["the same with a link", { type: "image", url: "https://example.com/a.png", metadata: { detail: "low" } }, 85],
    ["the same by id", { type: "image", fileId: "file-1" }, unknownImage],
    [
      "LangChain's older image block",
      { type: "image", source_type: "base64", data: pixel, mime_type: "image/png" },
      onePixel,
    ],
    [
      "Anthropic's image block",
      { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
      onePixel,
    ],
    ["Google's media block with an image", { type: "media", mimeType: "image/png", data: pixel }, onePixel],
    ["Google's inline data", { type: "inlineData", inlineData: { mimeType: "image/png", data: pixel } }, onePixel],
    [
      "Google's link",
      { type: "fileData", fileData: { mimeType: "image/png", fileUri: "https://example.com/a.png" } },
      unknownImage,
    ],
    ["a data URL as data", { type: "image", data: `data:image/png;base64,${pixel}` }, onePixel],
    ["a data URL with a parameter", { type: "image", url: `data:image/png;q=1;base64,${pixel}` }, onePixel],
    ["a file block with an image", { type: "file", file: { file_data: `data:image/png;base64,${pixel}` } }, onePixel],
    ["an image that cannot be read", { type: "image", data: "AAAA" }, unknownImage],
  ])("an image the same in every form: %s", (_, block, tokens) => {
    expect(costOf([block])).toEqual({ texts: [], tokens });
  });

  it.each([
    ["two seconds of WAV", { type: "input_audio", input_audio: { data: base64(96_000), format: "wav" } }, 20],
    ["two seconds of MP3", { type: "audio", data: base64(32_000), mimeType: "audio/mpeg" }, 20],
    ["sound behind a link as a minute", { type: "audio", url: "https://example.com/a.mp3" }, 600],
    ["two seconds of video", { type: "video", data: base64(500_000), mimeType: "video/mp4" }, 526],
    [
      "a PDF of 120 kB as three pages",
      { type: "input_file", file_data: `data:application/pdf;base64,${base64(120_000)}` },
      4_500,
    ],
    ["a file by id as two pages", { type: "file", file: { file_id: "file-1" } }, 3_000],
    ["a tiny file as a page", { type: "file", data: new Uint8Array(10), mimeType: "application/pdf" }, 1_500],
  ])("the documented estimate for %s", (_, block, tokens) => {
    expect(costOf([block])).toEqual({ texts: [], tokens });
  });

  it("a text file as its text", () => {
    const data = Buffer.from("naïve, 12 rows").toString("base64");
    expect(costOf([{ type: "file", data, mimeType: "text/csv" }])).toEqual({ texts: ["naïve, 12 rows"], tokens: 0 });
    expect(costOf([{ type: "file", data: Buffer.from("{}"), mimeType: "application/json" }])).toEqual({
      texts: ["{}"],
      tokens: 0,
    });
  });

  it("tool calls once if the content repeats them", () => {
    const calls = [{ id: "c1", name: "find", args: { q: "x" } }];
    const plain = messageCost(new AIMessage({ content: "ok", tool_calls: calls }));
    const repeated = [
      { type: "text", text: "ok" },
      { type: "tool_use", id: "c1", name: "find", input: { q: "x" } },
    ];
    expect(messageCost(new AIMessage({ content: repeated, tool_calls: calls }))).toEqual(plain);
    expect(messageCost(new AIMessage({ content: repeated })).texts).toContain(
      '{"type":"tool_use","id":"c1","name":"find","input":{"q":"x"}}',
    );
  });
});

function base64(bytes: number): string {
  return Buffer.alloc(bytes).toString("base64");
}

const ascii = (text: string) => [...Buffer.from(text, "latin1")];
const size = { width: 300, height: 200 };

const png = [0x89, ...ascii("PNG\r\n\x1a\n"), 0, 0, 0, 13, ...ascii("IHDR"), 0, 0, 1, 44, 0, 0, 0, 200, 8, 6];
const gif = [...ascii("GIF89a"), 44, 1, 200, 0, 0];
const riff = (chunk: string, rest: number[]) => [
  ...ascii("RIFF"),
  0,
  0,
  0,
  0,
  ...ascii("WEBP"),
  ...ascii(chunk),
  0,
  0,
  0,
  0,
  ...rest,
];
const lossyWebp = riff("VP8 ", [0, 0, 0, 0x9d, 0x01, 0x2a, 44, 1 | 0x40, 200, 0]);
// Width less one in 14 bits, then height less one in 14 bits, the lowest first.
const packed = 299 | (199 << 14);
const losslessWebp = riff("VP8L", [0x2f, packed & 255, (packed >> 8) & 255, (packed >> 16) & 255, packed >>> 24]);
const extendedWebp = riff("VP8X", [0, 0, 0, 0, 43, 1, 0, 199, 0, 0]);
const frame = (marker: number) => [0xff, marker, 0, 17, 8, 0, 200, 1, 44, 3, 0, 0, 0];
const segment = (marker: number, length: number) => [
  0xff,
  marker,
  length >> 8,
  length & 255,
  ...new Array<number>(length - 2).fill(0xff),
];
const jpeg = (marker: number) => [0xff, 0xd8, ...segment(0xe1, 3_000), ...segment(0xc4, 40), 0xff, ...frame(marker)];

describe("imageSize", () => {
  it.each([
    ["PNG", png],
    ["GIF", gif],
    ["lossy WebP", lossyWebp],
    ["lossless WebP", losslessWebp],
    ["extended WebP", extendedWebp],
    ["baseline JPEG behind a preview and a table", jpeg(0xc0)],
    ["progressive JPEG", jpeg(0xc2)],
  ])("reads the header of a %s", (_, bytes) => {
    expect(imageSize(Uint8Array.from(bytes))).toEqual(size);
  });

  it.each([
    ["nothing", []],
    ["text", ascii("hello world, this is no image at all")],
    ["a PNG that was cut off", png.slice(0, 16)],
    ["a JPEG that was cut off", jpeg(0xc0).slice(0, 3_000)],
    ["a JPEG whose segment says that it has no length", [0xff, 0xd8, 0xff, 0xe1, 0, 0, 0, 0, 0, 0, 0, 0]],
    ["a WebP of another kind", riff("ABCD", [0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])("finds no size in %s", (_, bytes) => {
    expect(imageSize(Uint8Array.from(bytes))).toBeUndefined();
  });
});
