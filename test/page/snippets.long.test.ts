import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { FormTensor } from "../../src/page/form-tensor.ts";
import { type Language, snippet } from "../../src/page/snippets.ts";
import { PYTHON } from "../helpers/missing-python.ts";
import { startServer } from "../helpers/start-server.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const TSX = fileURLToPath(import.meta.resolve("tsx/cli"));
const TOOLS: Readonly<Record<Language, readonly [file: string, ...command: string[]]>> = {
  curl: ["run.sh", "bash", "run.sh"],
  Python: ["run.py", PYTHON, "run.py"],
  TypeScript: ["run.mts", process.execPath, TSX, "run.mts"],
  Go: ["run.go", "go", "run", "run.go"],
};

/** Prints why a language is skipped; in CI, where nothing may be skipped, it throws. */
function lacks(program: string): boolean {
  if (spawnSync(program, ["--help"]).error === undefined) return false;
  const reason = `programs of the page are not run by ${program}, which is not installed\n`;
  if (process.env.CI !== undefined) throw new Error(reason);
  process.stderr.write(reason);
  return true;
}

const NASTY = 'it\'s "ü" \\ `$(x)` 😀 \n\t#{y} %s';
const PLAIN: readonly FormTensor[] = [
  { name: NASTY, datatype: "BYTES", shape: [1], values: [NASTY] },
  { name: "i", datatype: "INT64", shape: [2], values: [9007199254740993n, -1n] },
  { name: "b", datatype: "BOOL", shape: [1, 2], values: [true, false] },
  { name: "f", datatype: "FP32", shape: [1, 30, 2], values: new Array(60).fill(0.5) },
  { name: "n", datatype: "INT8", shape: [40], values: new Array(40).fill(-7) },
];
/** No character of it is encoded in a URL, but for the space. */
const MODEL = "a model's (best)";
const FILE: readonly FormTensor[] = [
  { name: "image", datatype: "BYTES", shape: [1], values: [Uint8Array.of(1)], file: "a photo's.bin" },
  { name: "t", datatype: "FP32", shape: [2, 2], values: [1, 2, 3, 4] },
];
const TEXT: readonly FormTensor[] = [
  { name: "image", datatype: "BYTES", shape: [1], values: ["AP_7"], file: "a photo's.bin" },
];

describe.each(Object.entries(TOOLS))("the page's program in %s", (language, [file, program = "", ...args]) => {
  test.skipIf(lacks(program))("sends what the form sends", { timeout: 300_000 }, async () => {
    const { httpUrl } = await startServer({
      models: { [MODEL]: { stages: [{ driver: "null" }] } },
      servedProtocols: "kserve",
    });
    const folder = tempFolder();
    writeFileSync(`${folder}/a photo's.bin`, Uint8Array.of(0, 255, 7));
    const run = async (inputs: readonly FormTensor[]) => {
      const request = { base: `${httpUrl}/`, model: MODEL, version: "1", inputs, isSignedIn: false };
      writeFileSync(`${folder}/${file}`, snippet(language as Language, request));
      const { stdout } = await promisify(execFile)(program, args, { cwd: folder });
      return stdout;
    };
    const plain = await run(PLAIN);
    for (const text of ["9007199254740993", "😀"]) expect(plain).toContain(text);
    expect(plain.match(/\b0\.5\b/g)).toHaveLength(60);
    expect(plain.match(/-7\b/g)).toHaveLength(40);
    const sent = await run(FILE);
    expect(sent).toContain("AP8H");
    expect(sent.replace(/\s|\.0\b/g, "")).toMatch(/.shape.:\[2,2\],.data.:\[1,2,3,4\]/);
    writeFileSync(`${folder}/a photo's.bin`, Uint8Array.of(0, 255, 251));
    expect(await run(TEXT)).toContain("AP_7");
  });

  test.skipIf(lacks(program))("takes credentials from the environment", { timeout: 300_000 }, async () => {
    const auth = { username: "ann", password: "a password of a test" };
    const { httpUrl } = await startServer({ models: { m: { stages: [{ driver: "null" }] } }, auth });
    const folder = tempFolder();
    const request = { base: `${httpUrl}/`, model: "m", version: "1", inputs: PLAIN, isSignedIn: true };
    writeFileSync(`${folder}/${file}`, snippet(language as Language, request));
    const env = { ...process.env, AUTHORIZATION: `Basic ${btoa(`${auth.username}:${auth.password}`)}` };
    const { stdout } = await promisify(execFile)(program, args, { cwd: folder, env });
    expect(stdout).toContain("9007199254740993");
  });
});
