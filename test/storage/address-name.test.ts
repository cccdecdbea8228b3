import { expect, test } from "vitest";
import { addressName } from "../../src/storage/address-name.ts";

test.each([
  ["s3://bucket/models/face.onnx", "face"],
  ["gs://bucket/models/face/3/", "face"],
  ["https://ann:pa55@host/resnet.tar.gz?X-Amz-Credential=AKIA/2026/us.east&sig=a/b.c#sha256=1", "resnet"],
  ["hf://owner/Model2.5-0.5B", "Model2.5-0.5B"],
  ["hf://owner/Model2.5@refs%2Fpr%2F1", "Model2.5"],
  ["hf://owner/model:main/onnx/model.onnx", "model"],
  ["oci://localhost:5000/models/face.v2:1.0", "face.v2"],
  ["oci://ghcr.io/models/face", "face"],
  [`oci://ghcr.io/models/face@sha256:${"a".repeat(64)}`, "face"],
  ["oci://ghcr.io/models/all:v1/face.onnx", "face"],
])("%s is called %s", (address, name) => {
  expect(addressName(address)).toBe(name);
});
