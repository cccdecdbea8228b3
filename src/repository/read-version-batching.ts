import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RawOptions } from "../drivers/option-table.ts";
import { invalidArgument } from "../errors.ts";
import type { Logger } from "../observability/logger.ts";

/** TensorFlow Serving's name of the file. */
const FILE = "batching_params.pbtxt";

/**
 * The `-o` options of the batching file in a version's folder; none where there is no
 * such file. Throws as `readConfigFile` does.
 */
export async function readVersionBatching(folder: string, log: Logger): Promise<RawOptions> {
  const path = join(folder, FILE);
  if (!existsSync(path)) return {};
  // Nearly no version has one.
  const { readConfigFile } = await import("./config/read-config-file.ts");
  const { batching, format, warnings } = await readConfigFile(path, []);
  for (const warning of warnings) log.warn(warning);
  if (batching !== undefined) return batching;
  throw invalidArgument(`${path} is ${format}; expected parameters of batching, such as max_batch_size { value: 32 }.`);
}
