import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { cudaLibraries, cudaVersionOf, loadCudaLibraries, openCuda } from "../../../src/storage/runtimes/cuda.ts";
import { CUDA_PROVIDER } from "../../../src/storage/runtimes/native-runtimes.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

afterEach(() => void vi.unstubAllEnvs());

describe("the version of CUDA that a provider was built for", () => {
  test.each([
    ["libcudart.so.13", 13],
    ["libcudart.so.12", 12],
    ["cudart64_12.dll", 12],
    ["nothing of the kind", undefined],
  ])("is read from %s in it, wherever that stands", (name, version) => {
    const folder = tempFolder();
    for (const before of [0, 2 ** 20 - 6, 2 ** 20 - 40, 3_000_000]) {
      const file = join(folder, `${before}.so`);
      writeFileSync(file, Buffer.concat([Buffer.alloc(before), Buffer.from(`${name}\0`), Buffer.alloc(50)]));
      expect(cudaVersionOf(file)).toBe(version);
    }
  });
});

test.runIf(process.platform === "linux")(
  "the libraries have the names of their version, cuDNN only where it is used",
  () => {
    const names = (cuda: number, cudnn: boolean) => cudaLibraries(cuda, { cudnn }).map(({ file }) => file);
    expect(names(13, true)).toEqual(
      expect.arrayContaining([
        "libcudart.so.13",
        "libcublas.so.13",
        "libcufft.so.12",
        "libcurand.so.10",
        "libcudnn.so.9",
      ]),
    );
    expect(names(12, false)).toEqual(expect.arrayContaining(["libcublasLt.so.12", "libcufft.so.11", "libnvrtc.so.12"]));
    expect(names(12, false)).not.toContain("libcudnn.so.9");
  },
);

/** A library that loads anywhere: koffi's own. */
const LIBRARY = "node_modules/@koromix/koffi-linux-x64/linux_x64/koffi.node";

test.runIf(existsSync(LIBRARY))(
  "libraries load from a Python environment; missing ones are named, but for optional ones",
  () => {
    const environment = tempFolder();
    const folder = join(environment, "lib/python3.12/site-packages/nvidia/cu99/lib");
    mkdirSync(folder, { recursive: true });
    copyFileSync(LIBRARY, join(folder, "libcudart.so.99"));
    writeFileSync(join(folder, "libcurand.so.99"), "no library");
    vi.stubEnv("VIRTUAL_ENV", environment);
    const wanted = ["libcudart.so.99", "libcublas.so.99", "libcurand.so.99"].map((file) => ({ file }));
    const missing = loadCudaLibraries([...wanted, { file: "libnvrtc.so.99", isOptional: true }]);
    expect(missing).toEqual(["libcublas.so.99", "libcurand.so.99"]);
  },
);

describe("opening CUDA", () => {
  const libraryWith = (provider: string) => join(tempFolder({ [CUDA_PROVIDER]: provider }), "libonnxruntime.so.1");

  test("refuses a provider that is none", () => {
    expect(() => openCuda(libraryWith("text"))).toThrow(/is no library of ONNX Runtime for CUDA\.$/);
  });

  test("says what is missing here: the driver, a GPU, or a driver that is new enough", () => {
    expect(() => openCuda(libraryWith("libcudart.so.999"))).toThrow(
      /^NVIDIA's driver (is not here: .*--gpus all|finds no GPU here\.|does not start|here is for CUDA \d+\.\d+, and this)/,
    );
  });
});
