import { expect, test } from "vitest";
import { FrameReader } from "../../../src/drivers/python/frame-reader.ts";

function frame(header: string, body: string): Buffer {
  const prefix = Buffer.alloc(12);
  prefix.writeUInt32LE(Buffer.byteLength(header), 0);
  prefix.writeBigUInt64LE(BigInt(Buffer.byteLength(body)), 4);
  return Buffer.concat([prefix, Buffer.from(header), Buffer.from(body)]);
}

test.each([1, 2, 7, 13, 1000])("frames that arrive in pieces of %d bytes are put together", (size) => {
  const frames: [string, string][] = [
    ["{}", ""],
    ['{"größe":1}', "body"],
    ["[]", "x".repeat(300)],
  ];
  const seen: [string, string][] = [];
  const reader = new FrameReader((header, body) => seen.push([header, body.toString()]));
  const bytes = Buffer.concat(frames.map(([header, body]) => frame(header, body)));
  for (let start = 0; start < bytes.length; start += size) reader.push(bytes.subarray(start, start + size));
  expect(seen).toEqual(frames);
});
