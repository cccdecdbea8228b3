import { basename, dirname } from "node:path/posix";
import type { NativeRuntime } from "./native-runtime.ts";
import { onnx } from "./onnx.ts";

const IS_WINDOWS = process.platform === "win32";
const LIBRARY = /^(libonnxruntime\.so(\.\d+)*|onnxruntime\.dll)$/;
const PROVIDER = /^(lib)?onnxruntime_providers_(shared|cuda|tensorrt)\.(so|dll)$/;

/** ONNX Runtime with the libraries that run models on GPUs of NVIDIA; CUDA's own are not among them. */
export const onnxCuda: NativeRuntime & { readonly install: string } = {
  name: "onnx-cuda",
  install: `${onnx.name} --device cuda`,
  title: "ONNX Runtime with CUDA",
  testedVersion: onnx.testedVersion,
  wheelProject: ({ os, arch }) =>
    os === "linux" || (os === "win32" && arch === "x64") ? "onnxruntime-gpu" : undefined,
  withoutWheel: "It is there for Linux and for Windows x64.",
  required: [LIBRARY, /onnxruntime_providers_shared\.(so|dll)$/, /onnxruntime_providers_cuda\.(so|dll)$/],
  keeps: (path) =>
    dirname(path) === "onnxruntime/capi" && (LIBRARY.test(basename(path)) || PROVIDER.test(basename(path))),
  subfolders: [
    "",
    "lib",
    "capi",
    "onnxruntime/capi",
    "lib/python*/site-packages/onnxruntime/capi",
    "Lib/site-packages/onnxruntime/capi",
  ],
  npm: {
    package: onnx.package,
    folder: `bin/napi-v6/${process.platform}/${process.arch}`,
    installer: "script/install.js",
  },
};

/** The library with the CUDA provider, next to ONNX Runtime's own. */
export const CUDA_PROVIDER = IS_WINDOWS ? "onnxruntime_providers_cuda.dll" : "libonnxruntime_providers_cuda.so";
