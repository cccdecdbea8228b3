import { basename } from "node:path";
import { DRIVER_FILES } from "./driver-files.ts";
import { HOOK_FILES, PROJECT_FILES } from "./hook-files.ts";
import type { Scaffold, ScaffoldFiles } from "./scaffold.ts";

/** Kinds of folders that `kserving new` makes. */
export const SCAFFOLD_KINDS = ["hooks", "driver", "project"] as const;
/** One of {@link SCAFFOLD_KINDS}. */
export type ScaffoldKind = (typeof SCAFFOLD_KINDS)[number];

const SCAFFOLDS: Readonly<Record<ScaffoldKind, Scaffold>> = {
  hooks: HOOK_FILES,
  driver: DRIVER_FILES,
  project: PROJECT_FILES,
};

/** Versions of the packages that an editor and the compiler need. */
const TYPES = { "@types/node": "^20.19.0", typescript: ">=5.7" };

/** All files of a new folder; `packageRoot` is where this program is installed. */
export function scaffoldFiles(kind: ScaffoldKind, folder: string, packageRoot: string): ScaffoldFiles {
  const { start, files } = SCAFFOLDS[kind];
  const manifest = {
    name:
      basename(folder)
        .toLowerCase()
        .replace(/[^a-z0-9._-]/g, "-")
        .replace(/^[._]+/, "") || "serving",
    private: true,
    type: "module",
    scripts: { start, test: "node --test", typecheck: "tsc" },
    dependencies: { kserving: `file:${packageRoot}` },
    devDependencies: TYPES,
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "tsconfig.json": `${JSON.stringify({ compilerOptions: COMPILER, include: ["*.ts"] }, null, 2)}\n`,
    ".gitignore": "node_modules/\n",
    ...files,
  };
}

const COMPILER = {
  ...{ strict: true, noEmit: true, skipLibCheck: true, noUncheckedIndexedAccess: true },
  ...{ target: "es2023", module: "nodenext", types: ["node"], allowImportingTsExtensions: true },
};
