import { expect, test } from "vitest";
import { parseOci } from "../../../src/storage/oci/oci-access.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

test.each([
  ["oci://ghcr.io/owner/model:v1.2", { reference: "v1.2" }],
  ["oci://ghcr.io/owner/model", { reference: "latest" }],
  ["oci://ghcr.io/owner/model:v1/1/m.onnx/", { reference: "v1", key: "1/m.onnx" }],
  [`oci://ghcr.io/owner/model@${DIGEST}/1`, { reference: DIGEST, key: "1" }],
  [`oci://ghcr.io/owner/model:v1@${DIGEST}`, { reference: DIGEST }],
])("%s is a manifest in a registry", (address, expected) => {
  expect(parseOci(address)).toEqual({ registry: "ghcr.io", repository: "owner/model", key: "", ...expected });
});

test.each([
  "oci://",
  "oci://host",
  "oci://ho st/m",
  "oci://host/UPPER:v1",
  "oci://host/m:",
  "oci://host/m@sha256:1",
  "oci://u:p@h/m",
])("%s is refused", (address) => {
  expect(() => parseOci(address)).toThrow(/is not in a registry; expected oci:\/\/REGISTRY\/REPOSITORY:TAG or/);
});
