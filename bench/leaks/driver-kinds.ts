import { ask, http, json, type LeakKind, type LeakServer } from "./leak-kind.ts";

/** Models that are asked; hooks and the null driver have kinds of their own. */
const ASKED = ["onnx", "openvino", "tensorflow", "portable", "keras", "tflite", "tfjs-graph", "isolated"];
/** Their runs take a process's time. */
const PYTHON = ["python", "pytorch"];
const PYTHON_COUNT = 20_000;
/** Of a size that a signature leaves open. */
const OPEN_SIZE = 1;

/** Runs of each driver that end well and that its model refuses, and images that are decoded for models. */
export function driverKinds(image: Buffer): LeakKind[] {
  const runs = [...ASKED, ...PYTHON].flatMap((model): LeakKind[] => {
    const limit = PYTHON.includes(model) && { maxCount: PYTHON_COUNT };
    return [
      { ...limit, name: `run-${model}`, expected: "200", form: "drivers", model, send: runOf(model) },
      { ...refused(model), ...limit },
    ];
  });
  return [...runs, ...imageKinds("inline", image), ...imageKinds("thread", image)];
}

function refused(model: string): LeakKind {
  const body = json({ inputs: [{ name: "unknown", shape: [1], datatype: "FP32", data: [1] }] });
  return {
    ...http(`refused-${model}`, "400", { path: `/v2/models/${model}/infer`, body }),
    form: "drivers",
    model,
  };
}

/** Images that are made the input of a model in the main thread, and in a thread. */
function imageKinds(where: string, image: Buffer): LeakKind[] {
  const model = `${where}-images`;
  const encoded = (bytes: Buffer) => json({ inputs: { x: [{ b64: bytes.toString("base64") }] } });
  const path = `/v1/models/${model}:predict`;
  return [
    { ...http(`image-${where}`, "200", { path, body: encoded(image) }), form: "drivers", model },
    { ...http(`image-${where}-broken`, "400", { path, body: encoded(image.subarray(0, 60)) }), form: "drivers", model },
  ];
}

/** Sends zeros of the types and sizes that the model's metadata gives. */
function runOf(model: string): LeakKind["send"] {
  let body: Promise<Buffer> | undefined;
  return async (server) => {
    body ??= zerosFor(server, model);
    return ask(server, { path: `/v2/models/${model}/infer`, body: await body });
  };
}

interface Described {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}

async function zerosFor({ http: base }: LeakServer, model: string): Promise<Buffer> {
  const answer = await fetch(`${base}/v2/models/${model}`);
  const { inputs } = (await answer.json()) as { readonly inputs: readonly Described[] };
  return json({
    inputs: inputs.map(({ name, datatype, shape: given }) => {
      const shape = given.map((size) => (size > 0 ? size : OPEN_SIZE));
      return { name, datatype, shape, data: Array(shape.reduce((product, size) => product * size, 1)).fill(0) };
    }),
  });
}
