import { expect, test } from "vitest";
import { drawDownloads, LiveLine } from "../../src/cli/live-line.ts";

/** Draws downloads at a terminal; returns what the line shows. */
function draw() {
  let shown = "";
  const write = (text: string) => {
    shown = text.replace("\r\u001b[K", "").trim();
    return true;
  };
  const report = drawDownloads(new LiveLine({ write, isTTY: true, columns: 200 }));
  const tell = (address: string, doneBytes: number, totalBytes: number | undefined, isOver = false) => {
    report({ address, doneBytes, totalBytes, isOver });
    return shown;
  };
  return tell;
}

const HALF = `${"█".repeat(15)}${"░".repeat(15)}`;

test("a download is a bar with its address, and gone with its end", () => {
  const tell = draw();
  expect(tell("s3://m/a.onnx", 1e6, 2e6)).toBe(`${HALF}  50 %  1.0 MB of 2.0 MB  s3://m/a.onnx`);
  expect(tell("s3://m/a.onnx", 2e6, 2e6, true)).toBe("");
});

test("several downloads have one bar", () => {
  const tell = draw();
  tell("s3://m/a.onnx", 0, 1e6);
  expect(tell("s3://m/b.onnx", 2e6, 3e6)).toBe(`${HALF}  50 %  2.0 MB of 4.0 MB  2 downloads`);
  expect(tell("s3://m/a.onnx", 1e6, 1e6, true)).toContain("s3://m/b.onnx");
});

test("a download of an unknown size has no bar", () => {
  expect(draw()("https://models/a.onnx", 1e6, undefined)).toBe("1.0 MB  https://models/a.onnx");
});
