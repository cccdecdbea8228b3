import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { failedPrecondition } from "../../../errors.ts";
import { npmInstall } from "../../../npm-install.ts";
import { npmFolders } from "../../../runtimes/find-library.ts";
import type { OpenvinoAddon } from "./addon-api.ts";

/** The installed openvino-node. */
export interface AddonPackage {
  readonly folder: string;
  readonly version: string;
  /** True where its installer has put the addon there. */
  readonly isComplete: boolean;
  /** The least major version of Node that it asks for. */
  readonly node: number;
}

const NAME = "openvino-node";
const OTHERWISE = "or leave -o engine= out and run: kserving runtimes install openvino";

/** The package in a folder, or where npm has put it, a complete one first; undefined where it is not. */
export function findAddon(folder?: string): AddonPackage | undefined {
  const folders = folder === undefined ? npmFolders(NAME, "") : [folder];
  const found = folders.filter((each) => existsSync(join(each, "package.json"))).map(readPackage);
  return found.find(({ isComplete }) => isComplete) ?? found[0];
}

function readPackage(folder: string): AddonPackage {
  const { version = "", engines = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return {
    folder,
    version,
    isComplete: existsSync(join(folder, "bin")),
    node: Number(/\d+/.exec(engines.node ?? "")?.[0] ?? 0),
  };
}

/** Checks that the package is made for this Node. */
export function takesThisNode({ node }: AddonPackage): boolean {
  return Number.parseInt(process.versions.node, 10) >= node;
}

/** Loads the addon; throws `failed_precondition`, saying what to do, where that cannot be. */
export function loadAddon(found: AddonPackage | undefined): OpenvinoAddon {
  if (found === undefined)
    throw failedPrecondition(`${NAME} is not installed. Run: ${npmInstall(NAME)}, ${OTHERWISE}.`);
  const { folder, version, isComplete, node } = found;
  if (!takesThisNode(found))
    throw failedPrecondition(
      `${NAME} ${version} needs Node ${node} or later, this is ${process.version}; take another Node, ${OTHERWISE}.`,
    );
  if (!isComplete)
    throw failedPrecondition(
      `${NAME} ${version} has no addon: its installer has not run, or failed. Run: npm rebuild ${NAME}, ${OTHERWISE}.`,
    );
  try {
    return createRequire(import.meta.url)(folder).addon;
  } catch (cause) {
    throw failedPrecondition(
      `The addon of ${NAME} ${version} does not load. Run: npm rebuild ${NAME}, ${OTHERWISE}.`,
      cause,
    );
  }
}
