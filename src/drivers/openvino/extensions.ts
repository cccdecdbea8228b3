import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { failedPrecondition } from "../../errors.ts";
import type { OpenvinoCore } from "./engine.ts";
import { failureText } from "./openvino-failure.ts";

/** Loads the libraries of `-o extension=`; throws `failed_precondition` for one that is missing or does not load. */
export function addExtensions(core: OpenvinoCore, paths: string): void {
  for (const path of paths
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")) {
    if (!existsSync(path)) throw failedPrecondition(`Option "extension" names "${path}", which does not exist.`);
    try {
      core.addExtension(resolve(path));
    } catch (cause) {
      throw failedPrecondition(
        `The extension "${basename(path)}" does not load into OpenVINO ${core.version}: ${failureText(cause)}. It has to be built for this version.`,
        cause,
      );
    }
  }
}
