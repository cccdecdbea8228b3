import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const page = readFileSync("docs/http.md", "utf8");
/** Bytes that are no text. */
const PHOTO = "\xff\xd8photo";

/** The page's example for a path. */
function exampleOf(path: string): string {
  const line = page.split("\n").find((each) => each.startsWith("    curl ") && each.includes(`:9001${path} `));
  if (line === undefined) throw new Error(`The page has no example for ${path}.`);
  return line.trim();
}

test("the page has an example for each of these tests", () => {
  expect(page.match(/^ {4}curl /gm)).toHaveLength(EXAMPLES.length);
});

const EXAMPLES = [
  ["/v1/models/default:predict", `{\n    "predictions": [[1.0, 2.0], [3.0, 4.0]\n    ]\n}`],
  ["/v1/models/default:regress", `{\n    "results": [2.0, 5.0]\n}`],
  [`/predict -d '[{"size":`, `{"size":[2.0,null],"kind":["flat","round"]}`],
  [`/predict -d '{"size":`, `{"size":[2,3],"kind":["flat","round"]}`],
  [`/predict -d '{"inputs":`, `{"x":[[1.0,2.0],[3.0,4.0]]}`],
  ["/predict -F", PHOTO],
  ["/serving-proxy", `{"image":"aGVsbG8=","top":3}`],
] as const;

test.each(EXAMPLES)("the example for %s is answered as the page says", async (path, expected) => {
  const { httpUrl } = await startServer({ stages: [{ driver: "null" }] });
  const cwd = tempFolder({ "photo.jpg": Buffer.from(PHOTO, "latin1") });
  const curl = exampleOf(path).replace("curl ", "curl -s --fail-with-body ").replace("http://localhost:9001", httpUrl);
  const { stdout } = await promisify(execFile)("sh", ["-c", curl], { cwd, encoding: "latin1" });
  expect(stdout).toBe(expected);
});
