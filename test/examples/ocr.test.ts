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

/** The language of the hooks. */
type Ending = "ts" | "py";

interface Answer {
  readonly texts: readonly string[];
  readonly scores: readonly number[];
  readonly boxes: readonly Corners[];
}

/**
 * Asks the server of an example's own command line, with the models where the package
 * has them, for the page and for a page without text.
 */
async function ask(ending: Ending): Promise<readonly [page: Answer, blank: Answer]> {
  const { options } = await readExample("ocr", ending);
  const fileName = (path = "") => path.split("/").at(-1) as string;
  const stages = (options.stages ?? []).map((model) => ({
    ...model,
    path: join(expected?.folder ?? "", fileName(model.path)),
  }));
  const python = ending === "py" && { options: { ...options.options, python: PYTHON } };
  const { httpUrl } = await startServer({ ...options, stages, ...python });
  const blank = sharp({ create: { width: 300, height: 200, channels: 3, background: "white" } });
  return [await post(httpUrl, readFileSync(PAGE)), await post(httpUrl, await blank.png().toBuffer())];
}

async function post(url: string, image: Uint8Array): Promise<Answer> {
  const form = new FormData();
  form.append("bytes_image", new Blob([image]), "page.png");
  const response = await fetch(`${url}/predict`, { method: "POST", body: form });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

describe.skipIf(expected === undefined)("ocr.ts and ocr.py", () => {
  const answers = { ts: undefined, py: undefined } as Record<Ending, Answer | undefined>;

  test.each(["ts", "py"] as const)(
    "%s reads what the package reads, from above to below, in the same places by 4 pixels",
    {
      timeout: 60_000,
    },
    async (ending) => {
      const [page, blank] = await ask(ending);
      const { texts, scores, boxes } = page;
      answers[ending] = page;
      // Whether a gap is a space may depend on one pixel of a box.
      const withoutSpaces = (text: string) => text.replaceAll(" ", "");
      expect(texts.map(withoutSpaces)).toEqual(expected?.lines.map(([, text]) => withoutSpaces(text)));
      expect(texts).toContain("PAID IN FULL");
      for (const [index, [box, text, score]] of (expected?.lines ?? []).entries()) {
        expect(Math.abs((scores[index] as number) - score), text).toBeLessThan(0.05);
        expect(distance(boxes[index] as Corners, box), text).toBeLessThanOrEqual(4);
      }
      expect(blank).toEqual({ texts: [], scores: [], boxes: [] });
    },
  );

  test("answer the same letters, and corners that differ by 2 pixels at most", () => {
    const { ts, py } = answers as Record<Ending, Answer>;
    expect(py.texts).toEqual(ts.texts);
    for (const [index, box] of ts.boxes.entries()) {
      expect(distance(py.boxes[index] as Corners, box)).toBeLessThanOrEqual(2);
    }
  });
});

/** The largest difference of two boxes' coordinates, in pixels. */
function distance(one: Corners, other: Corners): number {
  const numbers = other.flat();
  return Math.max(...one.flat().map((each, index) => Math.abs(each - (numbers[index] as number))));
}
