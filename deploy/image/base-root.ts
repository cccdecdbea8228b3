import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";

/** Folders of Debian that its slim images are without. */
const DOCUMENTS = ["doc", "groff", "info", "linda", "lintian", "locale", "man"].map((name) => `usr/share/${name}`);
const DEBIAN = /^debian:(\w+)-slim$/;
const NODE = /^node:(\d+)-(\w+)-slim$/;

/**
 * A folder with the files of an image that stands before a FROM, made from Debian's and npm's packages as that image
 * is: `debian:SUITE-slim`, or `node:MAJOR-SUITE-slim`. It is made once, in `cache`, and not to be changed.
 */
export function baseRoot(image: string, cache: string): string {
  const root = join(cache, image.replace(":", "-"));
  if (existsSync(root)) return root;
  const making = `${root}.making`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  const [, suite] = DEBIAN.exec(image) ?? [];
  const [, major, ofNode] = NODE.exec(image) ?? [];
  if (suite !== undefined) makeDebian(suite, making);
  else if (major !== undefined && ofNode !== undefined)
    addNode(major, copyRoot(baseRoot(`debian:${ofNode}-slim`, cache), making));
  else throw new Error(`The image ${image} cannot be made here; expected debian:SUITE-slim or node:MAJOR-SUITE-slim`);
  renameSync(making, root);
  return root;
}

/** Copies a root with its owners, links and times. */
export function copyRoot(from: string, to: string): string {
  runCommand("cp", ["-a", "--reflink=auto", from, to]);
  return to;
}

function makeDebian(suite: string, root: string): void {
  runCommand("debootstrap", ["--variant=minbase", suite, root]);
  for (const folder of [...DOCUMENTS, "var/cache/apt", "var/lib/apt/lists", "var/log"]) empty(join(root, folder));
  const excludes = DOCUMENTS.map((folder) => `path-exclude /${folder}/*\n`).join("");
  writeFileSync(join(root, "etc/dpkg/dpkg.cfg.d/docker"), excludes);
}

function empty(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/** npm has Node's program as a package for each system and processor. */
function addNode(major: string, root: string): void {
  const work = `${root}.packages`;
  rmSync(work, { recursive: true, force: true });
  const packages = [`node-${process.platform}-${process.arch}@${major}`, "npm@11"];
  runCommand("npm", ["install", "--prefix", work, "--ignore-scripts", "--no-audit", "--no-fund", ...packages]);
  const modules = join(work, "node_modules");
  cpSync(join(modules, `node-${process.platform}-${process.arch}`, "bin/node"), join(root, "usr/local/bin/node"));
  cpSync(join(modules, "npm"), join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
  for (const name of ["npm", "npx"])
    runCommand("ln", ["-s", `../lib/node_modules/npm/bin/${name}-cli.js`, join(root, "usr/local/bin", name)]);
  rmSync(work, { recursive: true });
}
