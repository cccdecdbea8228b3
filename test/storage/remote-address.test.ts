import { expect, test } from "vitest";
import { addressBelow, isRemoteAddress, shownAddress, toPlace } from "../../src/storage/remote-address.ts";

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
