import { expect, test } from "vitest";
import { FrameReader } from "../../../src/drivers/python/frame-reader.ts";
import { writeFrame } from "../../../src/drivers/python/write-frame.ts";

test.each([1, 2, 7, 13, 1000])("frames that arrive in pieces of %d bytes are put together", (size) => {
  const frames: [number, string, string][] = [
    [0, "{}", "8 bytes."],
    [4294967295, '{"größe":1}', ""],
    [7, "[]", "x".repeat(304)],
  ];
  const seen: [number, string, string][] = [];
  const reader = new FrameReader((id, header, body) => seen.push([id, header.toString(), body.toString()]));
  const bytes = Buffer.concat(
    frames.map(([id, header, body]) =>
      writeFrame({ id, deadline: undefined, slot: -1, header, body: [Buffer.from(body)] }),
    ),
  );
  for (let start = 0; start < bytes.length; start += size) reader.push(bytes.subarray(start, start + size));
  expect(seen).toEqual(frames);
});
