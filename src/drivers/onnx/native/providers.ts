import { copyFromNative } from "../../../native/memory.ts";
import { readText } from "../../../native/read-text.ts";
import type { NativeContext } from "./open-onnx.ts";
import { check } from "./status.ts";

/** The execution providers of this build: `cpu`, `cuda`. */
export function listProviders({ api }: NativeContext): string[] {
  const at = new BigUint64Array(1);
  const count = new Int32Array(1);
  check(api, api.GetAvailableProviders(at, count));
  const [list = 0n] = at;
  const names = Array.from(copyFromNative(new BigUint64Array(count[0]!), list), readText);
  check(api, api.ReleaseAvailableProviders(list, count[0]!));
  return names.map((name) => name.replace(/ExecutionProvider$/, "").toLowerCase());
}
