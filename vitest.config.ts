import { configDefaults, defineConfig } from "vitest/config";

/**
 * Tests whose runtimes CI does not install: the addon that openvino-node downloads from elsewhere, and torch 2, which
 * is 3 GB. Elsewhere they run, or are skipped with the reason.
 */
const notForCi = ["test/drivers/openvino/node/node-engine.test.ts", "test/drivers/pytorch/torch-2.test.ts"];

/** Tests of everything there is of a kind, and of what takes long: every toy model, random requests, messages of 256 MB. */
const LONG = "test/**/*.long.test.ts";

/** `--mode long` runs the long tests, any other mode all others. */
export default defineConfig(({ mode }) => ({
  resolve: {
    alias: {
      "kserving/client": new URL("./src/client/node.ts", import.meta.url).pathname,
      "kserving/hooks": new URL("./src/hooks/hooks.ts", import.meta.url).pathname,
      "kserving/drivers": new URL("./src/drivers/driver.ts", import.meta.url).pathname,
      "kserving/testing": new URL("./src/testing/testing.ts", import.meta.url).pathname,
      kserving: new URL("./src/index.ts", import.meta.url).pathname,
    },
  },
  test: {
    include: [mode === "long" ? LONG : "test/**/*.test.ts"],
    exclude: [
      ...configDefaults.exclude,
      ...(mode === "long" ? [] : [LONG]),
      ...(process.env.CI === undefined ? [] : notForCi),
    ],
    // Room for a machine that does other work as well: the slowest tests take 10 s on one that does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } },
    // Files wait for programs and threads that they start more than they compute.
    maxWorkers: "100%",
  },
}));
