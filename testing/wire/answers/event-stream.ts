import type { StreamEvent } from "./answer.js";

// The framing of AWS: lengths, a checksum of them, headers, the payload, and a checksum of all.

/** An event as a frame of `application/vnd.amazon.eventstream`. */
export function eventFrame({ event = "", data }: StreamEvent): Buffer {
  const headers = Buffer.concat([
    header(":event-type", event),
    header(":content-type", "application/json"),
    header(":message-type", "event"),
  ]);
  const payload = Buffer.from(JSON.stringify(data));
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + payload.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const head = Buffer.concat([prelude, checksum(prelude), headers, payload]);
  return Buffer.concat([head, checksum(head)]);
}

function header(name: string, value: string): Buffer {
  const text = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(text.length);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, text]);
}

/** CRC-32; Node.js has one only from 20.15 on. */
function checksum(bytes: Uint8Array): Buffer {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  }
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(~crc >>> 0);
  return sum;
}
