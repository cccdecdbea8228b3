import { failedPrecondition } from "../errors.ts";
import { bindFunctions } from "../native/bind-functions.ts";
import { openLibrary } from "../native/open-library.ts";
import type { RuntimeFacts } from "./probe.ts";

/** https://github.com/tensorflow/tensorflow/blob/master/tensorflow/c/c_api.h */
const FUNCTIONS = {
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

/** TensorFlow's version and devices; what it allocates lives as long as the process. */
export function askTensorflow(library: string): RuntimeFacts {
  // Its log has every device that it does not find.
  process.env.TF_CPP_MIN_LOG_LEVEL ??= "2";
  const tf = bindFunctions(openLibrary(library), FUNCTIONS, "TensorFlow");
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
