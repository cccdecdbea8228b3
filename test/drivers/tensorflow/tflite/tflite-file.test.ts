import { expect, test } from "vitest";
import type { TfliteFile } from "../../../../src/drivers/tensorflow/tflite/tflite-file.ts";
import { refuseOperators } from "../../../../src/drivers/tensorflow/tflite/tflite-file.ts";

const refuse = (...customOperators: string[]) =>
  refuseOperators({ customOperators } as unknown as TfliteFile, "a.tflite");

test("the end of a detector is refused, in whose place LiteRT leaves its memory", () => {
  expect(() => refuse("TFLite_Detection_PostProcess")).toThrow(
    'The model "a.tflite" ends with TFLite_Detection_PostProcess, whose outputs LiteRT',
  );
});

test("other custom operators are left to LiteRT, which has some of them", () => {
  expect(() => refuse("Convolution2DTransposeBias")).not.toThrow();
});
