import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { faceMismatch, loadDemoPhotos, toFoundFaces } from "../../scripts/demo-photos.ts";
import { startServer } from "../helpers/start-server.ts";
import { readExample } from "./example-command.ts";
import { WIRES } from "./wires.ts";

const MODELS = join(dirname(createRequire(import.meta.url).resolve("@vladmandic/human")), "../models");

/**
 * The example as it stands, hooks included, with the original TensorFlow.js models in
 * place of the ONNX ones that are made of them.
 */
async function start(name: string) {
  const { options } = await readExample(name);
  const paths = ["blazeface", "emotion"].map((model) => join(MODELS, `${model}.json`));
  return startServer({ ...options, stages: paths.map((path) => ({ driver: "tensorflow", path })) });
}

it("faces-to-emotions.ts finds each face and its emotion on the tensorflow driver too", {
  timeout: 60_000,
}, async () => {
  const server = await start("faces-to-emotions");
  const photos = await loadDemoPhotos();
  for (const [wire, { predict }] of WIRES) {
    for (const { name: photo, bytes, faces } of photos) {
      const { boxes, emotions } = await predict(server, { image: Buffer.from(bytes) });
      const wrong = faceMismatch(toFoundFaces(boxes as number[][], emotions as string[]), faces);
      expect({ wire, photo, wrong }).toEqual({ wire, photo });
    }
  }
});
