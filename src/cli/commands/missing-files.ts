import { access } from "node:fs/promises";
import type { ModelConfig } from "../../repository/config/model-config.ts";
import { warmUpFiles } from "../../repository/warm-up/warm-up-entry.ts";
import { isRemoteAddress } from "../../storage/remote-address.ts";
import { readProblem } from "../../text/read-problem.ts";

/**
 * The reason why a model cannot be served for want of a file that its configuration names besides its own path: a
 * stage's model, the hooks, a warm-up request, labels. Undefined where all of them are there.
 */
export async function missingFiles(config: ModelConfig): Promise<string | undefined> {
  const local = namedFiles(config).filter(({ path }) => !isRemoteAddress(path));
  const problems = await Promise.all(local.map(problemOf));
  const found = problems.filter((problem) => problem !== undefined);
  return found.length === 0 ? undefined : found.join(" ");
}

interface NamedFile {
  readonly role: string;
  readonly path: string;
}

function namedFiles({ path, stages = [], hooks, warmUp, labelFiles }: ModelConfig): NamedFile[] {
  // With a path of its own, a model's stages lie in the folder of each version.
  const ofStages = path === undefined ? stages.map((stage) => stage.path) : [];
  return [
    ...ofStages.flatMap((each, index) =>
      each === undefined ? [] : [{ role: `model of stage ${index + 1}`, path: each }],
    ),
    ...(typeof hooks === "string" ? [{ role: "hook file", path: hooks }] : []),
    ...warmUpFiles(warmUp).map((each) => ({ role: "warm-up request", path: each })),
    ...Array.from(labelFiles?.values() ?? [], (each) => ({ role: "file of labels", path: each })),
  ];
}

async function problemOf({ role, path }: NamedFile): Promise<string | undefined> {
  try {
    await access(path);
    return undefined;
  } catch (reason) {
    return `The ${role} "${path}" ${readProblem(reason)}.`;
  }
}
