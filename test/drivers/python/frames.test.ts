import { expect, test } from "vitest";
import { FrameReader, writeFrame } from "../../../src/drivers/python/frames.ts";

type Seen = [id: number, header: string, body: string] | [id: number, bytes: number];

const FRAMES: [number, string, string][] = [
  [0, "{}", "8 bytes."],
  [4294967295, '{"größe":1}', ""],
  [7, "[]", "x".repeat(304)],
];

/** Frames that a reader makes of bytes that come in pieces of a size. */
function readAll(bytes: Buffer, size: number, maxBytes?: number): Seen[] {
  const seen: Seen[] = [];
  const listener = {
    onFrame: (id: number, header: Buffer, body: Buffer) => void seen.push([id, header.toString(), body.toString()]),
    onTooLarge: (id: number, bytes: number) => void seen.push([id, bytes]),
  };
  const reader = new FrameReader(listener, maxBytes);
  for (let start = 0; start < bytes.length; start += size) reader.push(bytes.subarray(start, start + size));
  return seen;
}

const toFrame = ([id, header, body]: [number, string, string]) =>
  writeFrame({ id, deadline: undefined, slot: -1, header, body: [Buffer.from(body)] });

test.each([1, 2, 7, 13, 1000])("frames that arrive in pieces of %d bytes are put together", (size) => {
  expect(readAll(Buffer.concat(FRAMES.map(toFrame)), size)).toEqual(FRAMES);
});

test.each([1, 7, 1000])(
  "one that is too large is passed over, in pieces of %d bytes, and the next ones are read",
  (size) => {
    const large = toFrame([3, '{"large":true}', "y".repeat(800)]);
    const bytes = Buffer.concat([toFrame(FRAMES[0]!), large, large, ...FRAMES.slice(1).map(toFrame)]);
    expect(readAll(bytes, size, 400)).toEqual([FRAMES[0], [3, large.length], [3, large.length], ...FRAMES.slice(1)]);
  },
);
