import { imageSize } from "../../src/conversation/tokens/formulas/image-size.js";

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
