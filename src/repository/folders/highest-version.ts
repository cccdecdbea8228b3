import { parseVersion } from "../../serving/parse-version.ts";
import { modelConfig } from "../config/model-config.ts";
import { isDetected, modelsIn } from "./find-model.ts";
import { listFolder } from "./list-folder.ts";
import { listVersions } from "./list-versions.ts";
import { withModels } from "./with-models.ts";

/**
 * The folder of the highest version with a model where an unpacked archive holds versions; undefined where it holds
 * none, or a model beside them.
 */
export async function highestVersion(path: string): Promise<string | undefined> {
  const entries = await listFolder(path).catch(() => []);
  const isVersion = ({ kind, name }: (typeof entries)[number]) => kind === "folder" && parseVersion(name) !== undefined;
  if (!entries.some(isVersion) || (await isDetected(path))) return undefined;
  if ((await modelsIn(entries.filter(({ kind }) => kind === "file"))).length > 0) return undefined;
  const { versions } = await listVersions(path);
  const usable = await withModels(modelConfig({ name: "", path }), versions, { count: 1, served: [] });
  return usable.versions.at(-1)?.path;
}
