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

test("user, password and query are not shown", () => {
  expect(shownAddress("https://u:p@h/a?sig=1#sha256=2")).toBe("https://h/a");
});
