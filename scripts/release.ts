/**
 * Publishes every package of a version, those first that others may name. `npm run release -- --dry-run` shows
 * versions, contents and sizes, what is signed, and what would be pushed in which order, and pushes nothing.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runCommand } from "../test/helpers/run-command.ts";

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly integrity: string;
  readonly files: readonly { readonly path: string }[];
}

/** Folders in the order of their publication. */
const FOLDERS = [...readdirSync("packages").map((name) => join("packages", name)), "."];

const { values } = parseArgs({ options: { "dry-run": { type: "boolean", default: false } } });
const isDry = values["dry-run"];
const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

const problems = findProblems();
const packages = FOLDERS.map((folder) => ({ folder, packed: pack(folder) }));
for (const { packed } of packages) describe(packed);
console.log(`\nIn this order, each signed with the provenance of this commit (${head()}):`);
for (const { folder } of packages) console.log(`  ${publishCommand(folder).join(" ")}`);
for (const problem of problems) console.log(`\nNot yet: ${problem}`);
if (isDry) console.log("\nNothing was pushed: --dry-run.");
else if (problems.length > 0) process.exitCode = 1;
else for (const { folder, packed } of packages) publish(folder, packed);

/** Reasons not to publish this checkout, each with what to do. */
function findProblems(): readonly string[] {
  const others = FOLDERS.filter((folder) => manifestOf(folder).version !== version);
  const isDated = new RegExp(`^## ${version.replaceAll(".", "\\.")}, \\d{4}-\\d\\d-\\d\\d$`, "m");
  const notes = isDated.test(readFileSync("CHANGELOG.md", "utf8"));
  const homeless = FOLDERS.filter((folder) => manifestOf(folder).repository === undefined);
  const isTagged = git("tag", "--points-at", "HEAD").split("\n").includes(`v${version}`);
  // What npm signs with: an identity that only a workflow run has.
  const canSign = process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined || process.env.SIGSTORE_ID_TOKEN !== undefined;
  return [
    ...others.map((folder) => `${folder} is of another version; set it to ${version}.`),
    ...(notes ? [] : [`CHANGELOG.md has no section "## ${version}, YYYY-MM-DD"; write it, or its day.`]),
    ...homeless.map((folder) => `${folder} names no repository, without which npm takes no provenance; add it.`),
    ...(git("status", "--porcelain") === "" ? [] : ["The checkout has changes; commit them."]),
    ...(isTagged ? [] : [`This commit has no tag v${version}: git tag v${version}.`]),
    ...(canSign ? [] : ["Provenance is signed in a workflow run with permission id-token: write; run it there."]),
  ];
}

function manifestOf(folder: string): { readonly version: string; readonly repository?: unknown } {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function pack(folder: string): Packed {
  const dist = join(folder, "dist");
  if (!existsSync(dist)) throw new Error(`${dist} is missing; run npm run build.`);
  const [packed] = JSON.parse(runCommand("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: folder }));
  return packed;
}

function describe({ name, version, size, unpackedSize, integrity, files }: Packed): void {
  console.log(`\n${name} ${version}: ${isPublished(name) ? "already on the registry" : "new"}`);
  console.log(`  ${files.length} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`);
  console.log(`  ${integrity}`);
  const tops = files.map(({ path }) => path.replace(/\/.*/, "/"));
  const counted = [...new Set(tops)].map((top) => {
    const count = tops.filter((each) => each === top).length;
    return top.endsWith("/") ? `${top} (${count})` : top;
  });
  console.log(`  ${counted.join(", ")}`);
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1024)} KB`;
}

function isPublished(name: string): boolean {
  const { status, stdout } = spawnSync("npm", ["view", `${name}@${version}`, "version"], { encoding: "utf8" });
  return status === 0 && stdout.trim() === version;
}

function publishCommand(folder: string): readonly string[] {
  return [
    "npm",
    "publish",
    ...(folder === "." ? [] : [`./${folder}`]),
    "--ignore-scripts",
    "--access=public",
    "--provenance",
  ];
}

function publish(folder: string, { name }: Packed): void {
  if (isPublished(name)) {
    console.log(`${name} ${version} is already there`);
    return;
  }
  const [npm, ...args] = publishCommand(folder);
  console.log(runCommand(npm as string, args));
}

function git(...args: readonly string[]): string {
  return runCommand("git", args).trim();
}

function head(): string {
  return git("rev-parse", "--short", "HEAD");
}
