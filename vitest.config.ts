import { configDefaults, defineConfig } from "vitest/config";
import type { Reporter } from "vitest/node";

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
 * Tests that replace a module, or count, measure or change what a process has once, its threads and runtimes included:
 * each file has a process to itself. All others share one process for each worker, which imports the source once: that
 * and the start of the process take a third of a second of a processor for each file.
 */
const ALONE = [
  "test/platform/machine/system.test.ts",
  "test/storage/{hf/hf-client,http/follow-redirects,objects/xml-elements,oci/oci-client,runtimes/cuda}.test.ts",
  "test/tensor/codecs/json/json-memory.test.ts",
  "test/tools/tuning/run-tuning.test.ts",
  "test/docs/*.test.ts",
  "test/cli/{main,start-imports,lifecycle/{return-memory,shutdown,take-inherited-sockets}}.test.ts",
  "test/client/remote/{hostile-answers,hostile-parts,remote-*,silent-server}.test.ts",
  "test/drivers/onnx/{custom-ops,onnx}.test.ts",
  "test/drivers/openvino/{bad-models,extensions,hook-args,model-info,openvino,openvino-options}.test.ts",
  "test/drivers/openvino/{renewal,serving,state,tflite-names,node/*}.test.ts",
  "test/drivers/python/{python-process,slot-file}.test.ts",
  "test/drivers/tensorflow/{half-plus,hostile-sizes,tensorflow,wasm-trap}.test.ts",
  "test/drivers/tensorflow/keras/{h5-file,keras-engine}.test.ts",
  "test/drivers/tensorflow/native/{custom-ops,equality,misshapen,native-engine,open-tensorflow}.test.ts",
  "test/drivers/tensorflow/native/{session-handle,shape-guard,thread-pools,windows}.test.ts",
  "test/drivers/tensorflow/{tfjs/*,tflite/signature-defs,tflite/tflite-engine}.test.ts",
  "test/faults/*.test.ts",
  "test/hooks/host/{hook-*,image-tensors,inspect-hooks,start-hooks}.test.ts",
  "test/models/{while-counted,images/image-preprocessor,threads/*}.test.ts",
  "test/platform/codec-host/*.test.ts",
  "test/simulation/**/*.test.ts",
  "test/platform/limits/{busy-connections,compression,connection-limit,fair-shares,held-places,linear-cost}.test.ts",
  "test/platform/limits/memory/{byte-list,container-room,image-reservation,thread-memory,young-garbage}.test.ts",
  "test/platform/native/{bind-functions,mapped-file,process-control,process-environment}.test.ts",
];

/** Names the tests that failed once and passed when they were run again. */
const tellRetried: Reporter = {
  onTestRunEnd: (modules) => {
    for (const { relativeModuleId, children } of modules)
      for (const test of children.allTests("passed"))
        if ((test.diagnostic()?.retryCount ?? 0) > 0)
          process.stdout.write(`Failed at first: ${relativeModuleId} > ${test.fullName}\n`);
  },
};

/** Tests of one folder, which mutants are run with. */
const only = process.env.KSERVING_MUTANTS_TESTS;

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
      // CI's machines do other work as well, and 13 000 tests wait for programs: a fault fails twice.
      retry: process.env.CI === undefined ? 0 : 1,
      reporters: ["default", tellRetried],
      expect: { poll: { timeout: 20_000 } },
      // In node_modules/.experimental-vitest-cache lies what was compiled, for the other project and for the next run.
      experimental: { fsModuleCache: true },
      // Files wait for programs and threads that they start more than they compute.
      maxWorkers: "100%",
      projects: [
        { extends: true, test: { name: "alone", include: only ? [only] : isLong ? [LONG] : ALONE, exclude: skipped } },
        {
          extends: true,
          test: {
            name: "together",
            include: isLong || only ? [] : ["test/**/*.test.ts"],
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
