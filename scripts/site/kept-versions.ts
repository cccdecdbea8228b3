import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";

/** The files of another version's tag. */
export interface KeptVersion {
  readonly version: string;
  readonly folder: string;
}

/** Program that makes a version's site; the first tags may lack it, and have no site then. */
const BUILDER = "scripts/build-site.ts";

/**
 * The versions that have a tag `v1.2.3`, but for the one that is built here, the newest first: their files in a folder
 * each, with the packages of this one.
 */
export function checkOutTags(version: string, folder: string, repository = "."): readonly KeptVersion[] {
  const git = (...args: string[]) => execFileSync("git", ["-C", repository, ...args], { maxBuffer: 2 ** 30 });
  const tags = git("tag", "--list", "v*", "--sort=-v:refname").toString().split("\n");
  rmSync(folder, { recursive: true, force: true });
  return tags.flatMap((tag) => {
    const [, other] = /^v(\d+\.\d+\.\d+)$/.exec(tag) ?? [];
    if (other === undefined || other === version || git("ls-tree", tag, BUILDER).length === 0) return [];
    const own = join(folder, other);
    mkdirSync(own, { recursive: true });
    execFileSync("tar", ["-x", "-C", own], { input: git("archive", tag) });
    if (existsSync("node_modules")) symlinkSync(resolve("node_modules"), join(own, "node_modules"));
    return [{ version: other, folder: own }];
  });
}
