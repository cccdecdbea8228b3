import { basename } from "node:path";
import { type ClientSource, clientFiles } from "./client-files.ts";
import { DRIVER_FILES } from "./driver-files.ts";
import { HOOK_FILES, PROJECT_FILES } from "./hook-files.ts";
import type { Scaffold, ScaffoldFiles } from "./scaffold.ts";

/** Kinds of folders that `kserving new` makes. */
export const SCAFFOLD_KINDS = ["hooks", "driver", "project", "client"] as const;
/** One of {@link SCAFFOLD_KINDS}. */
export type ScaffoldKind = (typeof SCAFFOLD_KINDS)[number];

const SCAFFOLDS: Readonly<Record<Exclude<ScaffoldKind, "client">, Scaffold>> = {
  hooks: HOOK_FILES,
  driver: DRIVER_FILES,
  project: PROJECT_FILES,
};

/** Versions of the packages that an editor and the compiler need. */
const TYPES = { "@types/node": "^20.19.0", typescript: ">=5.7" };

/** A folder to write. */
interface NewFolder {
  /** The models that a client's folder calls; absent = another kind. */
  readonly source?: ClientSource | undefined;
  readonly kind: ScaffoldKind;
  readonly folder: string;
  /** The folder of this program. */
  readonly packageRoot: string;
}

/** All files of a new folder. */
export function scaffoldFiles({ source, kind, folder, packageRoot }: NewFolder): ScaffoldFiles {
  const { start, files } = kind === "client" ? clientFiles(source as ClientSource) : SCAFFOLDS[kind];
  const test = kind === "client" ? {} : { test: "node --test" };
  const manifest = {
    name:
      basename(folder)
        .toLowerCase()
        .replace(/[^a-z0-9._-]/g, "-")
        .replace(/^[._]+/, "") || "serving",
    private: true,
    type: "module",
    scripts: { start, ...test, typecheck: "tsc" },
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
