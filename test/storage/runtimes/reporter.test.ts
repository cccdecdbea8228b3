import { expect, test } from "vitest";
import { createReporter } from "../../../src/storage/runtimes/reporter.ts";

function recordingStream(isTTY: boolean, columns = 60) {
  const texts: string[] = [];
  return { texts, isTTY, columns, write: (text: string) => texts.push(text) > 0 };
}

test("without a terminal it writes a line for each step and no progress", () => {
  const stream = recordingStream(false);
  const reporter = createReporter(stream);
  reporter.step("Downloading x");
  reporter.progress(1, 2);
  reporter.done();
  expect(stream.texts).toEqual(["Downloading x\n"]);
});

test("on a terminal it draws a bar in place, within the terminal's columns, and clears it", () => {
  const stream = recordingStream(true);
  const reporter = createReporter(stream);
  reporter.step("Downloading x");
  reporter.progress(50_000_000, 200_000_000);
  reporter.done();
  expect(stream.texts).toEqual([
    "Downloading x\n",
    `\r  ${"█".repeat(8)}${"░".repeat(22)}  25 %  50.0 MB of 200 MB\x1b[K`,
    "\r\x1b[2K",
  ]);
  const narrow = recordingStream(true, 20);
  createReporter(narrow).progress(1, 2);
  expect(narrow.texts[0]).toHaveLength("\r".length + 19 + "\x1b[K".length);
});

test("an unknown size is reported without a bar", () => {
  const stream = recordingStream(true);
  createReporter(stream).progress(1_500_000, undefined);
  expect(stream.texts).toEqual(["\r  1.5 MB\x1b[K"]);
});
