import { foldersMatching } from "./library-folder.ts";
import { pythonFolders } from "./library-places.ts";
import { pytorch } from "./pytorch.ts";
import { installedRuntimes } from "./runtimes-folder.ts";

/** The name of CUDA's own libraries in the runtimes folder. */
export const CUDA = "cuda";

const IS_WINDOWS = process.platform === "win32";
/** Folders of libraries below that of a Python's packages, and of an installation of CUDA. */
const IN_PACKAGES = IS_WINDOWS ? ["nvidia/*/bin", "nvidia/*/bin/x86_64"] : ["nvidia/*/lib"];
const IN_INSTALLATION = IS_WINDOWS ? ["bin", "bin/x64"] : ["lib64", "lib", "targets/*/lib"];
const IN_ENVIRONMENT = IS_WINDOWS ? "Lib/site-packages" : "lib/python*/site-packages";

/** The places of CUDA's libraries after the system's own, for messages. */
export const CUDA_PLACES = "the system's folders, the runtimes folder, Python environments and CUDA_PATH";

/** Folders in which CUDA's libraries may be, apart from those that the system's loader searches. */
export function* cudaFolders(): Generator<string> {
  for (const { folder } of installedRuntimes(CUDA)) yield folder;
  const { VIRTUAL_ENV, CONDA_PREFIX, CUDA_PATH, CUDA_HOME } = process.env;
  const environments = [VIRTUAL_ENV, CONDA_PREFIX, ...installedRuntimes(pytorch.name).map(({ folder }) => folder)];
  for (const folder of given(environments)) {
    for (const packages of foldersMatching(folder, IN_ENVIRONMENT)) yield* below(packages, IN_PACKAGES);
  }
  const installations = [CONDA_PREFIX, CUDA_PATH, CUDA_HOME, ...(IS_WINDOWS ? [] : ["/usr/local/cuda"])];
  for (const folder of given(installations)) yield* below(folder, IN_INSTALLATION);
  for (const folder of pythonFolders()) yield* below(folder, IN_PACKAGES);
}

function given(folders: readonly (string | undefined)[]): string[] {
  return folders.filter((folder): folder is string => folder !== undefined && folder !== "");
}

function below(folder: string, patterns: readonly string[]): string[] {
  return patterns.flatMap((pattern) => foldersMatching(folder, pattern));
}
