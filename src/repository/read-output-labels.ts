import { failedPrecondition } from "../errors.ts";
import type { OutputLabels } from "../signature/describe-tensors.ts";
import type { ModelConfig } from "./config/model-config.ts";
import { withRegularFile } from "./warm-up/open-regular-file.ts";

/** Maximum size of a file of labels, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Reads the files with the names of a model's classes; throws `failed_precondition` for one that cannot be read. */
export async function readOutputLabels({ labelFiles = new Map() }: ModelConfig): Promise<OutputLabels> {
  const labels = new Map<string, readonly string[]>();
  for (const [output, path] of labelFiles) labels.set(output, await readLabels(path));
  return labels;
}

/** A label on each line; an empty line is a class without a name. */
function readLabels(path: string): Promise<readonly string[]> {
  const what = `The file of labels "${path}"`;
  return withRegularFile(path, what, async ({ file, size }) => {
    if (size > MAX_BYTES) throw failedPrecondition(`${what} has ${size} bytes; expected ${MAX_BYTES} at most.`);
    const lines = (await file.readFile("utf8")).split(/\r?\n/);
    return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
  });
}
