import { basename } from "node:path/posix";
import type { NativeRuntime } from "./native-runtime.ts";

/**
 * The library with the C API: of Python wheels and the Maven artifact (`_cc`), or of
 * the C distribution that tfjs-node downloads.
 */
const C_API = /^(libtensorflow(_cc)?(\.so\.2|\.2\.dylib)|(lib)?tensorflow(_cc)?\.dll)$/;
const FRAMEWORK = /^libtensorflow_framework(\.so\.2|\.2\.dylib)$/;

/** TensorFlow: of 1.3 GB in its Python package, the C API needs two libraries. */
export const tensorflow: NativeRuntime = {
  name: "tensorflow",
  title: "TensorFlow",
  testedVersion: "2.21.0",
  wheelProject: ({ os, arch }) => {
    if (os === "linux") return arch === "x64" ? "tensorflow-cpu" : "tensorflow";
    return os === "darwin" && arch === "arm64" ? "tensorflow" : undefined;
  },
  withoutWheel:
    "Download the jar tensorflow-core-native for this platform (group org.tensorflow of Maven Central) and pass it with --jar FILE.",
  required: process.platform === "win32" ? [C_API] : [C_API, FRAMEWORK],
  keeps: (path) => C_API.test(basename(path)) || FRAMEWORK.test(basename(path)),
  subfolders: ["", "lib", "tensorflow", "lib/python*/site-packages/tensorflow", "Lib/site-packages/tensorflow"],
  npm: { package: "@tensorflow/tfjs-node", folder: "deps/lib", installer: "scripts/install.js" },
};
