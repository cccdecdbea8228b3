import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { importOnnxRuntime } from "./drivers/onnx/onnx-runtime.ts";
import { failedPrecondition, invalidArgument, reasonText } from "./errors.ts";
import { bindFunctions, openLibrary } from "./platform/native/bind-functions.ts";
import { copyFromNative, readText } from "./platform/native/memory.ts";
import { CUDA_PROVIDER } from "./storage/runtimes/native-runtimes.ts";
import { libraryOf } from "./storage/runtimes/onnx.ts";
import type { Probe, RuntimeFacts } from "./storage/runtimes/probe.ts";

/** Providers that the library names although they are in files of their own. */
const OF_CUDA = ["cuda", "tensorrt"];

/** https://github.com/tensorflow/tensorflow/blob/master/tensorflow/c/c_api.h */
const TENSORFLOW = {
  TF_Version: ["str"],
  TF_NewStatus: ["void *"],
  TF_GetCode: ["int", "void *"],
  TF_Message: ["str", "void *"],
  TF_NewGraph: ["void *"],
  TF_NewSessionOptions: ["void *"],
  TF_NewSession: ["void *", "void *", "void *", "void *"],
  TF_SessionListDevices: ["void *", "void *", "void *"],
  TF_DeviceListCount: ["int", "void *"],
  TF_DeviceListName: ["str", "void *", "int", "void *"],
} as const;

/** https://docs.openvino.ai/2026/api/c_cpp_api/group__ov__core__c__api.html; each gives a status, 0 for success. */
const OPENVINO = {
  ov_get_openvino_version: ["int", "void *"],
  ov_get_error_info: ["str", "int"],
  ov_core_create: ["int", "void *"],
  ov_core_get_available_devices: ["int", "void *", "void *"],
} as const;

const ASKERS: Readonly<Record<string, (library: string) => RuntimeFacts | Promise<RuntimeFacts>>> = {
  onnx: askOnnxRuntime,
  "onnx-cuda": askOnnxCuda,
  tensorflow: askTensorflow,
  openvino: askOpenvino,
};

const [runtime = "", library = ""] = process.argv.slice(2);
const probe: Probe = await askRuntime(runtime, library).then(
  (facts) => ({ loads: true, ...facts }),
  (reason) => ({ loads: false, reason: reasonText(reason) }),
);
// The asking side ends this process: what a runtime does as it is unloaded is of no interest.
process.send?.(probe);

/** Loads a runtime into this process, for good, and asks it for version and devices. */
async function askRuntime(name: string, library: string): Promise<RuntimeFacts> {
  const ask = ASKERS[name];
  if (ask === undefined) throw invalidArgument(`There is no runtime "${name}" to ask.`);
  return ask(library);
}

/** Only the driver's own code knows the functions of ONNX Runtime. */
async function askOnnxCuda(library: string): Promise<RuntimeFacts> {
  const { askCuda } = await import("./drivers/onnx/native/ask-cuda.ts");
  return askCuda(library);
}

async function askOnnxRuntime(path: string): Promise<RuntimeFacts> {
  const { api } = await importOnnxRuntime([{ path, source: path }]);
  const { env, listSupportedBackends } = api;
  const hasCuda = existsSync(join(dirname(libraryOf(path)), CUDA_PROVIDER));
  const devices = listSupportedBackends().map(({ name }) => name);
  return {
    version: env.versions.node ?? env.versions.common,
    devices: devices.filter((name) => hasCuda || !OF_CUDA.includes(name)),
  };
}

/** TensorFlow's version and devices; what it allocates lives as long as the process. */
function askTensorflow(library: string): RuntimeFacts {
  // Its log has every device that it does not find.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "2";
  const tf = bindFunctions(openLibrary(library), TENSORFLOW, "TensorFlow");
  const status = tf.TF_NewStatus();
  const session = tf.TF_NewSession(tf.TF_NewGraph(), tf.TF_NewSessionOptions(), status);
  const list = session === null ? null : tf.TF_SessionListDevices(session, status);
  if (list === null) throw failedPrecondition(`It lists no devices: ${tf.TF_Message(status)}.`);
  const names = Array.from({ length: tf.TF_DeviceListCount(list) }, (_, at) => tf.TF_DeviceListName(list, at, status));
  return { version: tf.TF_Version() ?? "unknown", devices: names.map((name) => toShortName(name ?? "")) };
}

/** `/job:localhost/replica:0/task:0/device:CPU:0` → `CPU:0`. */
function toShortName(name: string): string {
  return name.slice(name.lastIndexOf("device:") + "device:".length);
}

/** OpenVINO's version and devices; what it allocates lives as long as the process. */
function askOpenvino(library: string): RuntimeFacts {
  const ov = bindFunctions(openLibrary(library), OPENVINO, "OpenVINO");
  const check = (status: number) => {
    if (status !== 0) throw failedPrecondition(`It fails: ${ov.ov_get_error_info(status)}.`);
  };
  // ov_version_t: build number, description. ov_available_devices_t: texts, count.
  const version = new BigUint64Array(2);
  const core = new BigUint64Array(1);
  const devices = new BigUint64Array(2);
  check(ov.ov_get_openvino_version(version));
  check(ov.ov_core_create(core));
  check(ov.ov_core_get_available_devices(core[0]!, devices));
  const [texts = 0n, count = 0n] = devices;
  const names = copyFromNative(new BigUint64Array(Number(count)), texts);
  return { version: toVersion(readText(version[0]!)), devices: [...names].map(readText) };
}

/** `2026.4.1-22982-abcdef-releases/2026/4` → `2026.4.1`. */
function toVersion(build: string): string {
  return build.split("-", 1)[0]!;
}
