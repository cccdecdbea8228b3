import { configDefaults, defineConfig } from "vitest/config";

/** What no registry has for CI to install: openvino-node's addon, which its package downloads from elsewhere. */
const hasOpenvinoNode = process.env.KSERVING_TEST_OPENVINO_NODE !== undefined;
const notForCi =
  process.env.CI !== undefined && !hasOpenvinoNode ? ["test/drivers/openvino/node/node-engine.test.ts"] : [];

export default defineConfig({
  resolve: {
    alias: {
      "kserving/hooks": new URL("./src/hooks/hooks.ts", import.meta.url).pathname,
      "kserving/drivers": new URL("./src/drivers/driver.ts", import.meta.url).pathname,
      kserving: new URL("./src/index.ts", import.meta.url).pathname,
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...notForCi],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    // Files wait for programs and threads that they start more than they compute.
    maxWorkers: "100%",
  },
});
