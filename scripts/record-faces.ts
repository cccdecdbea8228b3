import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createServer } from "../src/server/server.ts";
import { inferOnce } from "../src/serving/infer-once.ts";
import { createTensor, type Tensor } from "../src/tensor/tensor.ts";
import { EXPECTED_FACES_PATH, PHOTO_PATHS, toFoundFaces } from "./demo-photos.ts";
import { makeDemoModels } from "./make-demo-models.ts";

// Before committing the result, look at it (examples/hooks/draw-faces.ts) and format it (npm run fmt): from then on it
// is what the tests expect.
const { blazeface, emotion } = await makeDemoModels();
const server = await createServer({
  stages: [
    { driver: "onnx", path: blazeface },
    { driver: "onnx", path: emotion },
  ],
  hooks: fileURLToPath(new URL("../examples/hooks/faces-to-emotions.ts", import.meta.url)),
});
const recorded = await Promise.all(
  Object.entries(PHOTO_PATHS).map(async ([name, path]) => [name, await findFaces(path)] as const),
);
await server.close();
await writeFile(EXPECTED_FACES_PATH, `${JSON.stringify(Object.fromEntries(recorded), null, 2)}\n`);

async function findFaces(path: string) {
  const image = createTensor("bytes", [], [await readFile(path)]);
  const { outputs } = await inferOnce(server.service, {
    ref: { model: "" },
    signature: "",
    inputs: { kind: "tensors", tensors: { image } },
    call: { id: path, metadata: {}, signal: AbortSignal.timeout(10_000) },
  });
  if (outputs.kind !== "tensors") throw new Error("The service answered no tensors.");
  const { boxes, emotions } = outputs.tensors as { boxes: Tensor<"float32">; emotions: Tensor<"bytes"> };
  const names = emotions.data.map((bytes) => Buffer.from(bytes).toString());
  const pixels = Array.from(boxes.data, Math.round);
  return toFoundFaces(
    names.map((_, face) => pixels.slice(4 * face, 4 * face + 4)),
    names,
  );
}
