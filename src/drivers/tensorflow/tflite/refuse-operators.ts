import { failedPrecondition } from "../../../errors.ts";
import type { TfliteFile } from "./tflite-file.ts";

/** The last operator of detectors. LiteRT reads beyond its memory for its outputs. */
const DETECTION = "TFLite_Detection_PostProcess";

/**
 * Refuses operators that LiteRT would refuse at the first run only, or without a clear reason: those that the
 * converter leaves to TensorFlow itself (`tf.lite.OpsSet.SELECT_TF_OPS`), and the last one of detectors.
 */
export function refuseOperators({ customOperators }: TfliteFile, path: string): void {
  const flex = customOperators.filter((name) => name.startsWith("Flex")).map((name) => name.slice("Flex".length));
  if (flex.length > 0) {
    const advice = "Convert it with TFLITE_BUILTINS only, or serve the SavedModel that it was made from.";
    throw failedPrecondition(
      `The model "${path}" has operators that TFLite leaves to TensorFlow: ${flex.join(", ")}. ${advice}`,
    );
  }
  if (!customOperators.includes(DETECTION)) return;
  const advice = "Convert the model without it, or serve the SavedModel that it was made from.";
  throw failedPrecondition(
    `The model "${path}" ends with ${DETECTION}, whose outputs LiteRT's JavaScript API does not give. ${advice}`,
  );
}
