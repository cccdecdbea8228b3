import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../helpers/temp-folder.ts";
import { makeZip } from "../storage/runtimes/make-zip.ts";
import { startWeb } from "../storage/start-web.ts";
import { startKserving } from "./start-kserving.ts";

const [HALF, SCALAR] = ["half-plus-two", "identity-float32"].map((name) =>
  readFileSync(`test/fixtures/models/${name}.onnx`),
) as [Buffer, Buffer];

/** Serves an archive; returns its address. */
async function serve(files: Record<string, Buffer | string>): Promise<string> {
  const zip = makeZip(files);
  const origin = await startWeb((_, response) => void response.setHeader("content-length", zip.length).end(zip));
  return `${origin}/m.zip`;
}

const VERSIONS = { "m/1/model.onnx": SCALAR, "m/2/model.onnx": HALF };

/** Archives of which the version HALF is served. */
const ARCHIVES: Readonly<Record<string, Record<string, Buffer | string>>> = {
  "the highest": VERSIONS,
  "that with a model": { ...VERSIONS, "m/3/notes.txt": "none yet" },
  "that beside what a Mac packs": { ...VERSIONS, "__MACOSX/m/9/._model.onnx": "x", "m/.DS_Store": "x" },
  "the highest by its number": { "9/model.onnx": SCALAR, "10/model.onnx": HALF },
};

async function start(...flags: string[]) {
  const cache = join(tempFolder(), "cache");
  const program = startKserving([...flags, "--port", "0", "--http-port", "0", "--model-cache", cache]);
  const { http } = await program.event("ready");
  return async (name: string) => {
    const answer = await fetch(`${http}/v1/models/${name}:predict`, { method: "POST", body: '{"instances": [2]}' });
    return answer.json();
  };
}

test("of an archive of versions the highest is served that has a model", async () => {
  const flags = Object.values(ARCHIVES).map(async (files, index) => ["--model", `m${index}=${await serve(files)}`]);
  const ask = await start(...(await Promise.all(flags)).flat());
  for (const [index, what] of Object.keys(ARCHIVES).entries())
    expect(await ask(`m${index}`), what).toEqual({ predictions: [3] });
});

test("the same of a pipeline's", async () => {
  const address = await serve(ARCHIVES["the highest by its number"] ?? {});
  const ask = await start("--model-path", address, "--driver", "onnx", "--name", "m");
  expect(await ask("m")).toEqual({ predictions: [3] });
});
