import { randomUUID } from "node:crypto";
import { access, mkdir, rename, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { convertToOnnx } from "./tfjs-to-onnx.ts";

const require = createRequire(import.meta.url);
const SOURCE = join(dirname(require.resolve("@vladmandic/human")), "../models");
const TARGET = fileURLToPath(new URL("../.cache/demo", import.meta.url));

/** Paths of the demo's models. */
export interface DemoModels {
  /** Finds faces: `input` float32 [1,256,256,3] of -1 to 1 → two grids of scores and boxes. */
  readonly blazeface: string;
  /** Tells a face's emotion: `input_1` float32 [N,64,64,1], grey of -1 to 1 → 7 probabilities. */
  readonly emotion: string;
}

/**
 * Makes the demo's two ONNX models from the TensorFlow.js models of @vladmandic/human
 * (MIT), once; later calls find them in `.cache/demo`.
 */
export async function makeDemoModels(): Promise<DemoModels> {
  await mkdir(TARGET, { recursive: true });
  const [blazeface, emotion] = await Promise.all([makeModel("blazeface"), makeModel("emotion")]);
  return { blazeface, emotion };
}

/** Renames a complete file into place, so that two processes which start together cannot see half a model. */
async function makeModel(name: string): Promise<string> {
  const path = join(TARGET, `${name}.onnx`);
  if (await exists(path)) return path;
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, await convertToOnnx(join(SOURCE, `${name}.json`)));
  await rename(draft, path);
  return path;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const path of Object.values(await makeDemoModels())) console.log(path);
}
