import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { readExample } from "./example-command.ts";

/** A Python that has the package rapidocr_onnxruntime, whose models are used and whose answers are compared. */
const PYTHON = process.env.KSERVING_TEST_OCR ?? "python3";
const PAGE = "examples/photos/page.png";

type Corners = readonly (readonly [x: number, y: number])[];

/** The package's answer: the folder of its models, and the box, text and score of each line. */
interface PackageAnswer {
  readonly folder: string;
  readonly lines: readonly (readonly [box: Corners, text: string, score: number])[];
}

const PROGRAM = `
import json, os, sys
import rapidocr_onnxruntime as package
lines, _ = package.RapidOCR(use_cls=False)(sys.argv[1])
print(json.dumps({"folder": os.path.join(os.path.dirname(package.__file__), "models"), "lines": lines}))`;

const expected = readExpected();

function readExpected(): PackageAnswer | undefined {
  try {
    const printed = execFileSync(PYTHON, ["-c", PROGRAM, PAGE], {
      encoding: "utf8",
      stdio: ["pipe", "pipe", "ignore"],
    });
    return JSON.parse(printed.trim().split("\n").at(-1) as string);
  } catch {
    const reason = `The example ocr.ts is not tested: ${PYTHON} has no module rapidocr_onnxruntime (KSERVING_TEST_OCR names another interpreter)\n`;
    if (process.env.CI) throw new Error(reason);
    process.stderr.write(reason);
    return undefined;
  }
}

/** Asks the server of the example's own command line, with the models where the package has them. */
async function ask(image: Uint8Array) {
  const { options } = await readExample("ocr");
  const fileName = (path = "") => path.split("/").at(-1) as string;
  const stages = (options.stages ?? []).map((model) => ({
    ...model,
    path: join(expected?.folder ?? "", fileName(model.path)),
  }));
  const server = await startServer({ ...options, stages });
  const form = new FormData();
  form.append("bytes_image", new Blob([image]), "page.png");
  const response = await fetch(`${server.httpUrl}/predict`, { method: "POST", body: form });
  expect(response.status).toBe(200);
  return (await response.json()) as { texts: string[]; scores: number[]; boxes: Corners[] };
}

describe.skipIf(expected === undefined)("ocr.ts", () => {
  test("reads what the package reads, from above to below, in the same places by 4 pixels", {
    timeout: 60_000,
  }, async () => {
    const { texts, scores, boxes } = await ask(readFileSync(PAGE));
    // Whether a gap is a space may depend on one pixel of a box.
    const withoutSpaces = (text: string) => text.replaceAll(" ", "");
    expect(texts.map(withoutSpaces)).toEqual(expected?.lines.map(([, text]) => withoutSpaces(text)));
    expect(texts).toContain("PAID IN FULL");
    for (const [index, [box, text, score]] of (expected?.lines ?? []).entries()) {
      expect(Math.abs((scores[index] as number) - score), text).toBeLessThan(0.05);
      const distances = boxes[index]?.map(([x, y], at) =>
        Math.max(Math.abs(x - (box[at]?.[0] ?? 0)), Math.abs(y - (box[at]?.[1] ?? 0))),
      );
      expect(Math.max(...(distances ?? [])), text).toBeLessThanOrEqual(4);
    }
  });

  test("finds nothing where there is no text", { timeout: 60_000 }, async () => {
    const blank = sharp({ create: { width: 300, height: 200, channels: 3, background: "white" } });
    expect(await ask(await blank.png().toBuffer())).toEqual({ texts: [], scores: [], boxes: [] });
  });
});
