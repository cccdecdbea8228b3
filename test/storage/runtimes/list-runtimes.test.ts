import { chmodSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test, vi } from "vitest";
import { listRuntimes, toRuntimesTable } from "../../../src/storage/runtimes/list-runtimes.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

const MANIFEST = JSON.stringify({ source: "x.whl", files: {} });

/** A folder that holds nothing that loads, in front of whatever this machine has. */
function runtimesWithBrokenOpenvino(): string {
  return tempFolder({
    "openvino/9.9/runtime.json": MANIFEST,
    "openvino/9.9/libopenvino_c.so.9900": "no library",
    "openvino/9.9/libopenvino.so.9900": "no library",
  });
}

/** An interpreter that answers whatever it is asked with one line. */
function pythonThatSays(line: string): string {
  const folder = tempFolder({ "bin/python3": `#!/bin/sh\necho '${line}'\n` });
  chmodSync(join(folder, "bin/python3"), 0o755);
  return folder;
}

test("lists each runtime with what is found where, which one is used, and why one is not", async () => {
  const root = runtimesWithBrokenOpenvino();
  const python = '["/venv/bin/python3", "3.12.1", {"torch": "2.15.0", "numpy": "2.4.6", "xgboost": null}]';
  vi.stubEnv("KSERVING_RUNTIMES_DIR", root);
  vi.stubEnv("KSERVING_TENSORFLOW_LIB", "/nowhere");
  vi.stubEnv("VIRTUAL_ENV", pythonThatSays(python));
  const reports = await listRuntimes().finally(() => vi.unstubAllEnvs());
  const found = Object.fromEntries(reports.map((report) => [report.name, report.found]));
  expect(Object.keys(found)).toEqual([
    "tensorflow",
    "openvino",
    "onnx",
    "python",
    "pytorch",
    "sklearn",
    "xgboost",
    "lightgbm",
    "catboost",
    "mlflow",
    "statsmodels",
    "pmml",
    "h2o",
    "paddle",
    "mxnet",
    "transformers",
    "spacy",
  ]);
  expect(found.tensorflow?.[0]).toEqual({
    source: "environment",
    problem: expect.stringContaining('KSERVING_TENSORFLOW_LIB is "/nowhere"'),
    isUsed: true,
  });
  expect(found.openvino?.find(({ path }) => path?.startsWith(root))).toEqual({
    source: "the runtimes folder",
    path: join(root, "openvino/9.9/libopenvino_c.so.9900"),
    problem: expect.stringContaining("cannot be loaded"),
    isUsed: true,
  });
  expect(found.onnx).toEqual([
    {
      source: "the npm package onnxruntime-node",
      path: resolve("node_modules/onnxruntime-node"),
      version: expect.any(String),
      devices: expect.any(Array),
      isUsed: true,
    },
  ]);
  const inEnvironment = { source: "Python 3.12.1", path: "/venv/bin/python3", isUsed: true };
  expect(found.python?.[0]).toEqual({ ...inEnvironment, version: "2.4.6" });
  expect(found.pytorch?.[0]).toEqual({ ...inEnvironment, version: "2.15.0" });
  expect(found.xgboost?.map(({ path }) => path)).not.toContain("/venv/bin/python3");
});

test("has a row for each place, a star before what is used, and what to run for the rest", () => {
  const table = toRuntimesTable([
    {
      name: "toy",
      title: "Toy",
      found: [
        {
          source: "the runtimes folder",
          path: "/r/libtoy.so",
          version: "1.2.3",
          devices: ["CPU", "GPU:0"],
          isUsed: true,
        },
        { source: "VIRTUAL_ENV", path: "/v/libtoy.so", problem: "it is a text", isUsed: false },
      ],
    },
    { name: "other", title: "Other", found: [], install: "kserving runtimes install other" },
  ]);
  expect(table).toBe(
    [
      "   Runtime  Version  Devices     Found in",
      "*  toy      1.2.3    CPU, GPU:0  the runtimes folder: /r/libtoy.so",
      "   toy      -        -           VIRTUAL_ENV: /v/libtoy.so (it is a text)",
      "   other    -        -           nowhere",
      "",
      "What is missing:",
      "  Other: kserving runtimes install other",
    ].join("\n"),
  );
});
