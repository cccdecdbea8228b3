import { basename, dirname } from "node:path/posix";
import type { NativeRuntime } from "./native-runtime.ts";

const C_API = /^(libopenvino_c\.so\.\d+|libopenvino_c\.\d+\.dylib|openvino_c\.dll)$/;
const LIBRARY = /(\.so(\.\d+)*|\.dylib|\.dll)$/;
/** Useless for a server: front ends for models in a Python process, the NPU's plugin and compiler. */
const NOT_NEEDED = /(jax|pytorch|gguf)_frontend|_npu_|_debug/;

/** OpenVINO: the C library, the core, the front ends of file formats and the plugins of CPU and GPU. */
export const openvino: NativeRuntime = {
  name: "openvino",
  title: "OpenVINO",
  testedVersion: "2026.4.1",
  wheelProject: ({ os, arch }) => (os === "darwin" && arch === "x64" ? undefined : "openvino"),
  withoutWheel: "Unpack an OpenVINO archive for this platform and pass its folder with --path DIR.",
  required: [C_API, /^(lib)?openvino\.(so\.\d+|\d+\.dylib|dll)$/],
  keeps: (path) => {
    const name = basename(path);
    if (dirname(path) !== "openvino/libs" || NOT_NEEDED.test(name)) return false;
    return LIBRARY.test(name) || name === "cache.json";
  },
  subfolders: [
    "",
    "lib",
    "libs",
    "openvino/libs",
    "runtime/lib/intel64",
    "runtime/lib/aarch64",
    "runtime/lib/arm64/Release",
    "runtime/bin/intel64/Release",
    "lib/python*/site-packages/openvino/libs",
    "Lib/site-packages/openvino/libs",
  ],
};
