/** A user's own driver with the inputs and outputs of the two published models, and any time that they take. */
import { createTensor, DEFAULT_SIGNATURE, defineDriver, type Tensors } from "kserving";

type Shapes = Readonly<Record<string, readonly number[]>>;

/** Sizes of MobileNetV2, and of EfficientDet-D1 with all its outputs: 76 725 anchors. */
const MODELS: Readonly<Record<string, { readonly size: number; readonly outputs: Shapes }>> = {
  classifier: { size: 224, outputs: { scores: [1, 1000] } },
  detector: {
    size: 640,
    outputs: {
      detection_boxes: [1, 100, 4],
      detection_classes: [1, 100],
      detection_multiclass_scores: [1, 100, 90],
      detection_scores: [1, 100],
      num_detections: [1],
      raw_detection_boxes: [1, 76_725, 4],
      raw_detection_scores: [1, 76_725, 90],
    },
  },
};

interface Options {
  readonly published: string;
  readonly model_ms: number;
}

export default defineDriver<Options>({
  name: "published-models",
  options: {
    published: { type: "string", default: "classifier", help: "classifier or detector" },
    model_ms: { type: "number", default: 0, help: "milliseconds that a run takes" },
  },
  pathless: true,
  load: async (_, { published, model_ms: ms }) => {
    const { size, outputs } = MODELS[published]!;
    const answer = makeOutputs(outputs);
    const specs = Object.entries(outputs).map(([name, shape]) => ({ name, dtype: "float32", shape }) as const);
    return {
      signatures: {
        [DEFAULT_SIGNATURE]: { inputs: [{ name: "image", dtype: "uint8", shape: [1, size, size, 3] }], outputs: specs },
      },
      predict: async (_inputs, { outputs: wanted }) => {
        const end = performance.now() + ms;
        while (performance.now() < end);
        return copyOf(answer, wanted);
      },
      close: async () => {},
    };
  },
});

/** Values as scores are: between 0 and 1, with all their digits. */
function makeOutputs(shapes: Shapes): Tensors {
  const entries = Object.entries(shapes).map(([name, shape]) => {
    const count = shape.reduce((product, each) => product * each, 1);
    const data = Float32Array.from({ length: count }, (_, index) => 1 / (1 + Math.exp(Math.sin(index) * 6)));
    return [name, createTensor("float32", shape, data)] as const;
  });
  return Object.fromEntries(entries);
}

function copyOf(tensors: Tensors, wanted: readonly string[] | undefined): Tensors {
  const chosen = Object.entries(tensors).filter(([name]) => wanted?.includes(name) ?? true);
  return Object.fromEntries(
    chosen.map(([name, { shape, data }]) => [name, createTensor("float32", shape, (data as Float32Array).slice())]),
  );
}
