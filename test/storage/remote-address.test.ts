import { expect, test } from "vitest";
import { addressBelow, addressName, isRemoteAddress, shownAddress, toPlace } from "../../src/storage/remote-address.ts";

test.each([
  ["s3://b/models", "/1/m.onnx", "s3://b/models/1/m.onnx"],
  ["https://a.blob.core.windows.net/c/m?sv=1&sig=x%2Fy", "/1", "https://a.blob.core.windows.net/c/m/1?sv=1&sig=x%2Fy"],
  ["s3://b/models", "", "s3://b/models"],
])("below %s, %j is %s", (address, name, expected) => {
  expect(addressBelow(address, name)).toBe(expected);
});

test("a drive of Windows is not an address", () => {
  expect(["C://models", "gs://b/m", "AZ://c/m", "models", "file:///m"].map(isRemoteAddress)).toEqual([
    false,
    true,
    true,
    false,
    false,
  ]);
});

test("a relative path in a file at an address is an address next to it", () => {
  expect(toPlace("../m.onnx", "gs://b/a/c")).toBe("gs://b/a/m.onnx");
});

test.each([
  ["https://u:p@h/a?sig=1#sha256=2", "https://h/a"],
  ["https://bob:s3cr@t2@h/a@b", "https://h/a@b"],
  ["https://bob:s3/t2@h/a", "https://h/a"],
  ["https://bob:s3?t2@h/a", "https://h/a"],
  ["https://bob:s3#t2@h/a", "https://h/a"],
  ["https://h:8080/a@b", "https://h:8080/a@b"],
  ["https://[::1]:8080/a@b", "https://[::1]:8080/a@b"],
  ["oci://h:5000/m:v1@sha256:0", "oci://h:5000/m:v1@sha256:0"],
  ["hf://o/n@main/m", "hf://o/n@main/m"],
  ["s3://https://h:9000/b/a@b", "s3://https://h:9000/b/a@b"],
])("of %s, without user, password and query, %s is shown", (address, expected) => {
  expect(shownAddress(address)).toBe(expected);
});

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
