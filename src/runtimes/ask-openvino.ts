import { failedPrecondition } from "../errors.ts";
import { bindFunctions } from "../native/bind-functions.ts";
import { copyFromNative } from "../native/memory.ts";
import { openLibrary } from "../native/open-library.ts";
import { readText } from "../native/read-text.ts";
import type { RuntimeFacts } from "./probe.ts";

/** https://docs.openvino.ai/2026/api/c_cpp_api/group__ov__core__c__api.html; each gives a status, 0 for success. */
const FUNCTIONS = {
  ov_get_openvino_version: ["int", "void *"],
  ov_get_error_info: ["str", "int"],
  ov_core_create: ["int", "void *"],
  ov_core_get_available_devices: ["int", "void *", "void *"],
} as const;

/** OpenVINO's version and devices; what it allocates lives as long as the process. */
export function askOpenvino(library: string): RuntimeFacts {
  const ov = bindFunctions(openLibrary(library), FUNCTIONS, "OpenVINO");
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
