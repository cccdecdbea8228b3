import { expect, it } from "vitest";
import { LiteRtFailure, toRunError } from "../../../../src/drivers/tensorflow/tflite/litert-error.ts";

it.each([
  ["gather index out of bounds.", "invalid_argument"],
  ["tflite/kernels/kernel_util.cc:746 Given shapes, [2,3] and [2,4], are not broadcastable.", "invalid_argument"],
  ["Node number 3 (SOFTMAX) failed to invoke.", "internal"],
  ["Failed to allocate tensors of shape [1,3]", "internal"],
])("a failed run of LiteRT is the client's fault where it blames the inputs: %s", (text, code) => {
  expect(toRunError(new LiteRtFailure([text]))).toMatchObject({
    code,
    message: expect.stringMatching(/^LiteRT failed: /),
  });
});
