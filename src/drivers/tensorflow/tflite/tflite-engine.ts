import { failedPrecondition, ServingError } from "../../../errors.ts";
import { DEFAULT_SIGNATURE, type Signature } from "../../../signature/signature.ts";
import { didYouMean } from "../../../text/nearest.ts";
import type { Model } from "../../driver.ts";
import type { TensorflowEngine } from "../engine.ts";
import { startLiteRt } from "./litert.ts";
import { toLoadError, toRunError } from "./litert-error.ts";
import { RowModels } from "./row-models.ts";
import { readTfliteFile, type TfliteFile } from "./tflite-file.ts";

/** Serves .tflite files, quantized ones too, with LiteRT's WebAssembly build. */
const engine: TensorflowEngine = {
  name: "tflite",
  load: async ({ path }, { model_signature }) => {
    const file = readTfliteFile(path);
    refuseSelectOps(file, path);
    const runtime = await startLiteRt();
    const models = await RowModels.load(runtime, file).catch((reason: unknown) => {
      throw toLoadError(reason, path);
    });
    return createTfliteModel(models, chooseSignature(models, model_signature));
  },
};

export default engine;

/**
 * Refuses operators that the converter leaves to TensorFlow itself (`tf.lite.OpsSet.SELECT_TF_OPS`); otherwise LiteRT
 * would fail at the first run only.
 */
function refuseSelectOps({ customOperators }: TfliteFile, path: string): void {
  const flex = customOperators.filter((name) => name.startsWith("Flex")).map((name) => name.slice("Flex".length));
  if (flex.length === 0) return;
  const advice = "Convert it with TFLITE_BUILTINS only, or serve the SavedModel that it was made from.";
  throw failedPrecondition(
    `The model "${path}" has operators that TFLite leaves to TensorFlow: ${flex.join(", ")}. ${advice}`,
  );
}

/** The name in the file that the default signature has; the only signature, or the first, where none has the usual name. */
function chooseSignature({ signatures }: RowModels, asked: string): string {
  const names = [...signatures.keys()];
  if (names.includes(asked)) return asked;
  if (asked === DEFAULT_SIGNATURE && names[0] !== undefined) return names[0];
  throw failedPrecondition(
    `The model has no signature "${asked}"; it has: ${names.join(", ")}.${didYouMean(asked, names)}`,
  );
}

function createTfliteModel(models: RowModels, chosen: string): Model {
  const shown = models.signatures.get(chosen) as Required<Pick<Signature, "inputs" | "outputs">>;
  const named = Object.fromEntries(models.signatures);
  return {
    signatures: { ...named, [DEFAULT_SIGNATURE]: shown },
    isPure: true,
    hookArgs: {
      driver: "tensorflow",
      model_inputs: Object.fromEntries(shown.inputs.map(({ name, shape }) => [name, shape])),
      model_outputs: shown.outputs.map(({ name }) => name),
    },
    predict: async (inputs, { signature, outputs, signal }) => {
      if (signal.aborted) throw ServingError.from(signal.reason);
      const key = signature === DEFAULT_SIGNATURE ? chosen : signature;
      try {
        return await models.run(key, inputs, outputs);
      } catch (reason) {
        throw toRunError(reason);
      }
    },
    close: async () => models.close(),
  };
}
