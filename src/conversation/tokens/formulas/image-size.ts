/** Width and height in pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** The size that the header of a PNG, JPEG, GIF or WebP image gives; undefined for other or incomplete data. */
export function imageSize(bytes: Uint8Array): ImageSize | undefined {
  const size = pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes) ?? jpegSize(bytes);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function pngSize(bytes: Uint8Array): ImageSize | undefined {
  return textAt(bytes, 1, 3) === "PNG" ? { width: big(bytes, 16, 4), height: big(bytes, 20, 4) } : undefined;
}

function gifSize(bytes: Uint8Array): ImageSize | undefined {
  return textAt(bytes, 0, 4) === "GIF8" ? { width: little(bytes, 6, 2), height: little(bytes, 8, 2) } : undefined;
}

function webpSize(bytes: Uint8Array): ImageSize | undefined {
  if (textAt(bytes, 0, 4) !== "RIFF" || textAt(bytes, 8, 4) !== "WEBP") {
    return undefined;
  }
  switch (textAt(bytes, 12, 4)) {
    case "VP8 ":
      return { width: little(bytes, 26, 2) & 0x3fff, height: little(bytes, 28, 2) & 0x3fff };
    case "VP8L": {
      const packed = little(bytes, 21, 4);
      return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
    }
    case "VP8X":
      return { width: little(bytes, 24, 3) + 1, height: little(bytes, 27, 3) + 1 };
    default:
      return undefined;
  }
}

/** Walks the segments to the frame header (SOF0 to SOF15; C4, C8 and CC are other things). */
function jpegSize(bytes: Uint8Array): ImageSize | undefined {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) {
    return undefined;
  }
  for (let at = 2; at + 9 <= bytes.length && bytes[at] === 0xff;) {
    const marker = bytes[at + 1]!;
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { width: big(bytes, at + 7, 2), height: big(bytes, at + 5, 2) };
    }
    at += marker === 0xff ? 1 : 2 + big(bytes, at + 2, 2);
  }
  return undefined;
}

function textAt(bytes: Uint8Array, from: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(from, from + length));
}

function big(bytes: Uint8Array, from: number, length: number): number {
  return bytes.subarray(from, from + length).reduce((value, byte) => value * 256 + byte, 0);
}

function little(bytes: Uint8Array, from: number, length: number): number {
  return bytes.subarray(from, from + length).reduceRight((value, byte) => value * 256 + byte, 0);
}
