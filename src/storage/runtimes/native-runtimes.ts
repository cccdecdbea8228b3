import { basename, dirname } from "node:path/posix";
import { invalidArgument } from "../../errors.ts";
import { didYouMean } from "../../platform/text/nearest.ts";
import type { HostPlatform } from "./wheels.ts";

/** A runtime whose libraries kserving calls directly: its parts and its sources. */
export interface NativeRuntime {
  /** As in `kserving runtimes remove NAME`, mostly also `--driver NAME`. */
  readonly name: string;
  /** The rest of the command that installs it, after `kserving runtimes install`; default: the name. */
  readonly install?: string;
  /** Its usual name. */
  readonly title: string;
  /** The version that is installed if none is asked for: the one that the tests run. */
  readonly testedVersion: string;
  /**
   * The project of the Python package index whose wheels carry the libraries for a platform; undefined if none does.
   */
  wheelProject(host: HostPlatform): string | undefined;
  /** Advice if no wheel carries them, as a sentence. */
  readonly withoutWheel: string;
  /** Base names of the libraries that must be there; the first one is the one that is opened. */
  readonly required: readonly RegExp[];
  /** Checks that a file of an archive belongs to the runtime, by its path in there. */
  keeps(path: string): boolean;
  /**
   * Folders with the libraries of an installation of another kind, below the folder that people would name; `*` is any
   * one name.
   */
  readonly subfolders: readonly string[];
  /** The npm package whose own installer downloads the libraries, and the folder in it. */
  readonly npm?: NpmCarrier;
}

/** An npm package that carries a runtime's libraries once its installer has run. */
export interface NpmCarrier {
  readonly package: string;
  /** Folder of the libraries then, below the package. */
  readonly folder: string;
  /** The installer's program, below the package. */
  readonly installer: string;
}

/** An npm package that is downloaded without running its scripts. */
export interface NpmArchive {
  readonly name: string;
  /** Of the tested version's archive, as npm's registry states it. */
  readonly integrity: string;
  /** Checks that a file of the archive is needed here, by its path within the package. */
  keeps(path: string): boolean;
}

/** Folder of ONNX Runtime's native libraries for this platform, below its npm package. */
export const ONNX_LIBRARIES = `bin/napi-v6/${process.platform}/${process.arch}/`;

/** ONNX Runtime: an npm package with libraries for five platforms, and the package of its JavaScript interface. */
export const onnx = {
  name: "onnx",
  title: "ONNX Runtime",
  /** The version that is installed if none is asked for: the one that the tests run. */
  testedVersion: "1.30.0",
  package: "onnxruntime-node",
  archives: [
    {
      name: "onnxruntime-node",
      integrity: "sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==",
      keeps: (path) => path === "package.json" || /^dist\/.*\.js$/.test(path) || path.startsWith(ONNX_LIBRARIES),
    },
    {
      name: "onnxruntime-common",
      integrity: "sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==",
      keeps: (path) => path === "package.json" || /^dist\/.*\.(js|json)$/.test(path),
    },
  ] as readonly NpmArchive[],
} as const;

/**
 * PyTorch has only a C++ interface, so its models run in Python: the installation is
 * an environment with an interpreter.
 */
export const pytorch = {
  name: "pytorch",
  title: "PyTorch",
  /** Packages that pip installs with torch, which works without numpy; our host does not. */
  needs: ["numpy"],
} as const;

/** The name of CUDA's own libraries in the runtimes folder. */
export const CUDA = "cuda";

/**
 * The library with the C API: of Python wheels and the Maven artifact (`_cc`), or of
 * the C distribution that tfjs-node downloads.
 */
const TENSORFLOW_C = /^(libtensorflow(_cc)?(\.so\.2|\.2\.dylib)|(lib)?tensorflow(_cc)?\.dll)$/;
const TENSORFLOW_FRAMEWORK = /^libtensorflow_framework(\.so\.2|\.2\.dylib)$/;

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
  required: process.platform === "win32" ? [TENSORFLOW_C] : [TENSORFLOW_C, TENSORFLOW_FRAMEWORK],
  keeps: (path) => TENSORFLOW_C.test(basename(path)) || TENSORFLOW_FRAMEWORK.test(basename(path)),
  subfolders: ["", "lib", "tensorflow", "lib/python*/site-packages/tensorflow", "Lib/site-packages/tensorflow"],
  npm: { package: "@tensorflow/tfjs-node", folder: "deps/lib", installer: "scripts/install.js" },
};

const OPENVINO_C = /^(libopenvino_c\.so\.\d+|libopenvino_c\.\d+\.dylib|openvino_c\.dll)$/;
const ANY_LIBRARY = /(\.so(\.\d+)*|\.dylib|\.dll)$/;
/** Useless for a server: front ends for models in a Python process, the NPU's plugin and compiler. */
const NOT_NEEDED_OF_OPENVINO = /(jax|pytorch|gguf)_frontend|_npu_|_debug/;

/** OpenVINO: the C library, the core, the front ends of file formats and the plugins of CPU and GPU. */
export const openvino: NativeRuntime = {
  name: "openvino",
  title: "OpenVINO",
  testedVersion: "2026.4.1",
  wheelProject: ({ os, arch }) => (os === "darwin" && arch === "x64" ? undefined : "openvino"),
  withoutWheel: "Unpack an OpenVINO archive for this platform and pass its folder with --path DIR.",
  required: [OPENVINO_C, /^(lib)?openvino\.(so\.\d+|\d+\.dylib|dll)$/],
  keeps: (path) => {
    const name = basename(path);
    if (dirname(path) !== "openvino/libs" || NOT_NEEDED_OF_OPENVINO.test(name)) return false;
    return ANY_LIBRARY.test(name) || name === "cache.json";
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

const IS_WINDOWS = process.platform === "win32";
const ONNX_LIBRARY = /^(libonnxruntime\.so(\.\d+)*|onnxruntime\.dll)$/;
const ONNX_PROVIDER = /^(lib)?onnxruntime_providers_(shared|cuda|tensorrt)\.(so|dll)$/;

/** ONNX Runtime with the libraries that run models on GPUs of NVIDIA; CUDA's own are not among them. */
export const onnxCuda: NativeRuntime & { readonly install: string } = {
  name: "onnx-cuda",
  install: `${onnx.name} --device cuda`,
  title: "ONNX Runtime with CUDA",
  testedVersion: onnx.testedVersion,
  wheelProject: ({ os, arch }) =>
    os === "linux" || (os === "win32" && arch === "x64") ? "onnxruntime-gpu" : undefined,
  withoutWheel: "It is there for Linux and for Windows x64.",
  required: [ONNX_LIBRARY, /onnxruntime_providers_shared\.(so|dll)$/, /onnxruntime_providers_cuda\.(so|dll)$/],
  keeps: (path) =>
    dirname(path) === "onnxruntime/capi" && (ONNX_LIBRARY.test(basename(path)) || ONNX_PROVIDER.test(basename(path))),
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

/**
 * Every native runtime that can be installed; {@link onnx} and {@link pytorch} are not
 * among them. Adding one is one line here.
 */
export const NATIVE_RUNTIMES: readonly NativeRuntime[] = [tensorflow, openvino, onnxCuda];

/** The usual name of a runtime that can be removed. Throws as {@link findRuntime} does. */
export function titleOf(name: string): string {
  return (
    [onnx, pytorch, { name: CUDA, title: "CUDA" }].find((runtime) => runtime.name === name)?.title ??
    findRuntime(name).title
  );
}

/** The native runtime of a name. Throws `invalid_argument` for an unknown one. */
export function findRuntime(name: string): NativeRuntime {
  const found = NATIVE_RUNTIMES.find((runtime) => runtime.name === name);
  if (found !== undefined) return found;
  const names = [onnx.name, ...NATIVE_RUNTIMES.map((runtime) => runtime.name), pytorch.name];
  const message = `There is no runtime "${name}".${didYouMean(name, names)} Expected ${names.slice(0, -1).join(", ")} or ${pytorch.name}.`;
  throw invalidArgument(message);
}
