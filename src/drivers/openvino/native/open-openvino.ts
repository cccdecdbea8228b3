import { bindFunctions } from "../../../native/bind-functions.ts";
import { openLibrary } from "../../../native/open-library.ts";
import { readText } from "../../../native/read-text.ts";
import { C_API, type OpenvinoApi } from "./c-api.ts";
import { check } from "./status.ts";

/** Libraries that this thread has opened, by path. */
const opened = new Map<string, OpenvinoApi>();

/** Opens libopenvino_c; throws `failed_precondition` for a file that does not load or lacks functions. */
export function openOpenvino(path: string): OpenvinoApi {
  const known = opened.get(path);
  if (known !== undefined) return known;
  const api = bindFunctions(openLibrary(path), C_API, `The OpenVINO library "${path}"`);
  opened.set(path, api);
  return api;
}

/** `2026.4.1-22982-abcdef-releases/2026/4` → `2026.4.1`. */
export function readVersion(api: OpenvinoApi): string {
  // ov_version_t: the addresses of build number and description.
  const version = new BigUint64Array(2);
  check(api, api.ov_get_openvino_version(version));
  const build = readText(version[0]!);
  api.ov_version_free(version);
  return build.split("-", 1)[0]!;
}
