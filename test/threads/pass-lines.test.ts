import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { passLines } from "../../src/threads/pass-lines.ts";

test("a line that does not end is passed in pieces, and not gathered", async () => {
  const stream = new PassThrough();
  const lengths: number[] = [];
  passLines(stream, (line) => lengths.push(line.length));
  stream.write("a".repeat(20_000));
  stream.end("b\n\nc");
  await once(stream, "end");
  expect(lengths).toEqual([8192, 8192, 3617, 0, 1]);
});
