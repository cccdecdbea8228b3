import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleClient } from "./bundle-client.ts";

test("a bundler takes the client for web pages: no module of Node, no gRPC, at most 16 KB", async () => {
  const { code, inputs, warnings } = await bundleClient();
  expect(warnings).toEqual([]);
  expect(inputs).toContain("dist/client/client.js");
  expect(inputs.filter((name) => /node_modules|grpc/.test(name))).toEqual([]);
  expect(gzipSync(code).length).toBeLessThan(16_384);
});
