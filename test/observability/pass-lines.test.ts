import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { passLines } from "../../src/observability/pass-lines.ts";

/** The lines that are passed of an output. */
async function linesOf(...chunks: readonly (string | Buffer)[]): Promise<string[]> {
  const stream = new PassThrough();
  const lines: string[] = [];
  passLines(stream, (line) => lines.push(line));
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  await once(stream, "end");
  return lines;
}

test("lines are passed in order, whatever pieces they come in", async () => {
  expect(await linesOf("a\nb", "c\r\n", "\n\nd\r", "\ne")).toEqual(["a", "bc", "d", "e"]);
  expect(await linesOf(Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1))).toEqual(["é"]);
});

test("of a line that does not end its beginning is passed at once, and then how much more there was", async () => {
  const [first, second, ...others] = await linesOf("a".repeat(20_000), `${"b".repeat(5_000)}\nc`);
  expect([first?.length, second, others]).toEqual([8192, "… (16808 more characters of this line)", ["c"]]);
});

test("a line of exactly the limit is passed whole", async () => {
  expect((await linesOf(`${"a".repeat(8192)}\nb`)).map((line) => line.length)).toEqual([8192, 1]);
});

test("of a flood of lines the first are passed, and that others are left out", async () => {
  const lines = await linesOf("x\n".repeat(5_000_000));
  expect(lines.length).toBeLessThan(500_000);
  expect(lines).toContain("more than 2 MB/s are written to the log; the rest is left out");
});
