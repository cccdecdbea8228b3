import { expect, test } from "vitest";
import { LiveLine } from "../../src/cli/live-line.ts";

/** A stream that keeps what is written. */
function recorder(isTTY: boolean, columns = 20) {
  const texts: string[] = [];
  return { texts, isTTY, columns, write: (text: string) => texts.push(text) > 0 };
}

test("a line changes in its place, within the terminal, and is gone afterwards", () => {
  const stream = recorder(true, 5);
  const line = new LiveLine(stream);
  line.show(() => "one of many");
  line.show(() => "two");
  line.clear();
  line.clear();
  expect(stream.texts).toEqual(["\r\u001b[Kone ", "\r\u001b[Ktwo", "\r\u001b[K"]);
});

test("what is written meanwhile goes above the line", () => {
  const stream = recorder(true);
  const line = new LiveLine(stream);
  line.write("before\n");
  line.show(() => "50 %");
  line.write("meanwhile\n");
  line.clear();
  line.write("after\n");
  expect(stream.texts).toEqual(["before\n", "\r\u001b[K50 %", "\r\u001b[Kmeanwhile\n50 %", "\r\u001b[K", "after\n"]);
});

test("without a terminal there is no line", () => {
  const stream = recorder(false);
  const line = new LiveLine(stream);
  line.show(() => "50 %");
  line.write("text\n");
  line.clear();
  expect(stream.texts).toEqual(["text\n"]);
});

test("a line has no characters that a terminal takes as commands, and 80 where its width is not known", () => {
  const stream = recorder(true, 0);
  new LiveLine(stream).show(() => `\u001b[2J${"a".repeat(100)}`);
  expect(stream.texts).toEqual([`\r\u001b[K\\u001b[2J${"a".repeat(70)}`]);
});
