import { createHash } from "node:crypto";
import { makeZip, type ZipOptions } from "./make-zip.ts";

/** Tags of the three systems that the tests may run on. */
const PLATFORMS = "manylinux_2_17_x86_64.manylinux_2_17_aarch64.macosx_10_9_universal2.win_amd64";

/** Options of a wheel. */
export interface WheelOptions extends ZipOptions {
  readonly project?: string;
  readonly version?: string;
  /** Tags of Python and ABI. */
  readonly python?: string;
  /** Lines of RECORD in place of the true ones, by path. */
  readonly record?: Readonly<Record<string, string>>;
}

/** A wheel's name and bytes, with the hashes of its files in RECORD. */
export function makeWheel(files: Readonly<Record<string, string | Uint8Array>>, options: WheelOptions = {}) {
  const { project = "toy_runtime", version = "1.2.3", python = "cp313-cp313", record = {}, ...zip } = options;
  const lines = Object.entries(files).map(([name, content]) => record[name] ?? `${name},sha256=${digest(content)},1`);
  const info = `${project}-${version}.dist-info`;
  const bytes = makeZip({ ...files, [`${info}/RECORD`]: `${lines.join("\n")}\n${info}/RECORD,,\n` }, zip);
  return { name: `${project}-${version}-${python}-${PLATFORMS}.whl`, bytes };
}

function digest(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("base64url");
}
