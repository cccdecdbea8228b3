import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { findLibrary } from "../../../src/storage/runtimes/find-library.ts";
import { NATIVE_RUNTIMES } from "../../../src/storage/runtimes/native-runtimes.ts";
import { probeRuntime } from "../../../src/storage/runtimes/probe.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A native library that is on every machine with Linux that runs these tests. */
function someLibrary(): Buffer {
  const system = `${process.platform}_${process.arch}`;
  const name = `@koromix/koffi-${process.platform}-${process.arch}/${system}/koffi.node`;
  return readFileSync(createRequire(createRequire(import.meta.url).resolve("koffi")).resolve(name));
}

function libraryFile(bytes: string | Uint8Array): string {
  return join(tempFolder({ "lib.so": bytes }), "lib.so");
}

test("reports the version and the execution providers of ONNX Runtime", async () => {
  const probe = await probeRuntime({ runtime: "onnx", library: resolve("node_modules/onnxruntime-node") });
  expect(probe).toMatchObject({
    loads: true,
    version: expect.stringMatching(/^1\.\d+/),
    devices: expect.arrayContaining(["cpu"]),
  });
});

for (const runtime of NATIVE_RUNTIMES) {
  const library = findLibrary(runtime)?.path;
  if (library === undefined)
    process.stderr.write(`Skipped: run kserving runtimes install ${runtime.install ?? runtime.name}\n`);
  test.runIf(library !== undefined)(`reports the version and the devices of ${runtime.title}`, async () => {
    const probe = await probeRuntime({ runtime: runtime.name, library: String(library) });
    expect(probe).toMatchObject({ loads: true, version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
    expect(probe.loads && probe.devices.join().toUpperCase()).toContain("CPU");
  });
}

test("says why a library does not load", async () => {
  const probe = await probeRuntime({ runtime: "tensorflow", library: libraryFile("a text") });
  expect(probe).toEqual({ loads: false, reason: expect.stringContaining("cannot be loaded") });
});

test.runIf(process.platform === "linux")("names the functions that another library lacks", async () => {
  const probe = await probeRuntime({ runtime: "openvino", library: libraryFile(someLibrary()) });
  expect(probe).toEqual({ loads: false, reason: expect.stringContaining("OpenVINO lacks functions") });
});

test.runIf(process.platform === "linux")("outlives a library whose loading kills the process", async () => {
  const cut = someLibrary().subarray(0, 600_000);
  const probe = await probeRuntime({ runtime: "tensorflow", library: libraryFile(cut) });
  expect(probe).toEqual({ loads: false, reason: "the process that loaded it was ended by SIGBUS" });
});
