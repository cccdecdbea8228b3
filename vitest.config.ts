import { configDefaults, defineConfig } from "vitest/config";

/**
 * Tests whose runtimes CI does not install: the addon that openvino-node downloads from elsewhere, and torch 2, which
 * is 3 GB. Elsewhere they run, or are skipped with the reason.
 */
const notForCi = ["test/drivers/openvino/node/node-engine.test.ts", "test/drivers/pytorch/torch-2.test.ts"];

/**
 * Tests of everything there is of a kind, and of what takes long: every toy model, random requests, messages of 256 MB.
 */
const LONG = "test/**/*.long.test.ts";

/**
 * Tests that count or change what a process has once, start programs or load runtimes: each file has a process to
 * itself. All others share one process for each worker, which imports the source once.
 */
const ALONE = [
  "test/*.test.ts",
  "test/{examples,faults,hooks/host,platform/codec-host,platform/native}/**/*.test.ts",
  "test/tensor/codecs/json/json-memory.test.ts",
  "test/cli/{,commands/,lifecycle/,scaffold/}*.test.ts",
  "test/drivers/{,onnx/**/,openvino/**/,python/,pytorch/,tensorflow/,tensorflow/{keras,native,tfjs,tflite}/}*.test.ts",
  "test/platform/limits/**/*.test.ts",
  "test/platform/machine/system.test.ts",
  "test/models/{,images/,threads/}*.test.ts",
  "test/client/remote/*.test.ts",
  "test/storage/**/*.test.ts",
];

/** `--mode long` runs the long tests, any other mode all others. */
export default defineConfig(({ mode }) => {
  const isLong = mode === "long";
  const skipped = [
    ...configDefaults.exclude,
    ...(isLong ? [] : [LONG]),
    ...(process.env.CI === undefined ? [] : notForCi),
  ];
  return {
    resolve: {
      alias: {
        "kserving/client": new URL("./src/client/node.ts", import.meta.url).pathname,
        "kserving/hooks": new URL("./src/hooks/hooks.ts", import.meta.url).pathname,
        "kserving/drivers": new URL("./src/drivers/driver.ts", import.meta.url).pathname,
        "kserving/testing": new URL("./src/tools/testing/testing.ts", import.meta.url).pathname,
        "kserving/text": new URL("./src/text/text.ts", import.meta.url).pathname,
        kserving: new URL("./src/index.ts", import.meta.url).pathname,
      },
    },
    test: {
      // Room for a machine that does other work as well: the slowest tests take 10 s on one
      // that does not, long ones 50 s.
      testTimeout: isLong ? 180_000 : 60_000,
      hookTimeout: 60_000,
      expect: { poll: { timeout: 20_000 } },
      // Files wait for programs and threads that they start more than they compute.
      maxWorkers: "100%",
      projects: [
        { extends: true, test: { name: "alone", include: isLong ? [LONG] : ALONE, exclude: skipped } },
        {
          extends: true,
          test: {
            name: "together",
            include: isLong ? [] : ["test/**/*.test.ts"],
            exclude: [...skipped, ...ALONE],
            isolate: false,
            // A worker keeps its process from one file to the next of these alone.
            sequence: { groupOrder: 1 },
          },
        },
      ],
    },
  };
});
