import { expect, test } from "vitest";
import { isAzureUrl, parseAz } from "../../../src/storage/az/az-location.ts";

const ENDPOINT = "https://acc.blob.core.windows.net";

test.each([
  ["az://models/a/b.onnx", { key: "a/b.onnx" }],
  ["as://acc/models/a//b.onnx/", { key: "a/b.onnx" }],
  [`${ENDPOINT}/models/a%20b/c.onnx`, { key: "a b/c.onnx" }],
  [`${ENDPOINT}/models/a?sv=1&sig=x%2Fy`, { key: "a", signature: "sv=1&sig=x%2Fy" }],
])("%s is a place in a container", (address, expected) => {
  const { endpoint, container, key, signature } = parseAz(address, { AZURE_STORAGE_ACCOUNT: "acc" });
  expect({ endpoint, container, key, signature }).toEqual({
    endpoint: ENDPOINT,
    container: "models",
    signature: undefined,
    ...expected,
  });
});

test.each([
  [`${ENDPOINT}/models/m`, true],
  ["https://acc.blob.core.chinacloudapi.cn/models/m", true],
  ["https://acc.blob.core.windows.net.example.com/models/m", false],
  ["https://example.com/acc.blob.core.windows.net/m", false],
  ["http://acc.blob.core.windows.net/models/m", false],
])("%s is Azure's: %s", (address, expected) => {
  expect(isAzureUrl(address)).toBe(expected);
});
