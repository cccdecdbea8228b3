import { expect, it } from "vitest";
import { OpenvinoFailure, toRunError } from "../../../src/drivers/openvino/openvino-failure.ts";

it.each([
  ["[CPU] Reshape node with name 'r' the shape of input data (1.3) conflicts with the pattern", "invalid_argument"],
  ["[CPU] Convolution node with name 'c': data batch channels count (4) does not match filter", "invalid_argument"],
  ["[CPU] Split node with name 's': the operands must be at least of 2 elements", "invalid_argument"],
  ["[CPU] Could not create a primitive", "internal"],
])("a failed run of OpenVINO is the client's fault where sizes do not match: %s", (text, code) => {
  expect(toRunError(new OpenvinoFailure("failed", text), [])).toMatchObject({ code });
});
