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

test.each([
  ["the highest", VERSIONS],
  ["that with a model", { ...VERSIONS, "m/3/notes.txt": "none yet" }],
  ["that beside what a Mac packs", { ...VERSIONS, "__MACOSX/m/9/._model.onnx": "x", "m/.DS_Store": "x" }],
  ["the highest by its number", { "9/model.onnx": SCALAR, "10/model.onnx": HALF }],
])("of an archive of versions %s is served", async (_, files) => {
  const address = await serve(files);
  const flags = ["--port", "0", "--http-port", "0", "--model-cache", join(tempFolder(), "cache")];
  for (const model of [
    ["--model", `m=${address}`],
    ["--model-path", address, "--driver", "onnx", "--name", "m"],
  ]) {
    const { http } = await startKserving([...model, ...flags]).event("ready");
    const answer = await fetch(`${http}/v1/models/m:predict`, { method: "POST", body: '{"instances": [2]}' });
    expect(await answer.json()).toEqual({ predictions: [3] });
  }
});
