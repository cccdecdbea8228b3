/**
 * Publishes every package of a version, those first that others may name. `npm run release -- --dry-run` shows
 * versions, contents and sizes, what is signed, and what would be pushed in which order, and pushes nothing;
 * `-- --repository URL` writes the repository that provenance is checked against into each package.json.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { runCommand } from "../test/helpers/run-command.ts";

interface Packed {
  readonly name: string;
  readonly version: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly integrity: string;
  readonly files: readonly { readonly path: string }[];
}

/** The workflow that runs this with an identity to sign with. */
const WORKFLOW = "release.yml";
/** It writes folders that name kserving, which is there by then. */
const LAST = "packages/create";
/** Folders in the order of their publication. */
const FOLDERS = [...packageFolders().filter((folder) => folder !== LAST), ".", LAST];

const { values } = parseArgs({
  options: { "dry-run": { type: "boolean", default: false }, repository: { type: "string" } },
});
if (values.repository !== undefined) {
  writeRepository(values.repository);
  process.exit();
}
const isDry = values["dry-run"];
const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };

const problems = await findProblems();
const packages = packAll();
const states = await Promise.all(packages.map(({ packed }) => stateOf(packed.name)));
packages.forEach(({ packed }, index) => {
  describe(packed, states[index] as string);
});
console.log(`\nIn this order, each signed with the provenance of this commit (${head()}):`);
for (const { folder } of packages) console.log(`  ${publishCommand(folder).join(" ")}`);
for (const problem of problems) console.log(`\nNot yet: ${problem}`);
if (isDry) console.log("\nNothing was pushed: --dry-run.");
else if (problems.length > 0) process.exitCode = 1;
else for (const { folder, packed } of packages) await publish(folder, packed);

function packageFolders(): readonly string[] {
  return readdirSync("packages").map((name) => join("packages", name));
}

/** Names the repository in each package.json, to be committed: what is signed is a commit. */
function writeRepository(address: string): void {
  const url = `git+${address.replace(/^git\+/, "").replace(/(?:\.git)?\/*$/, "")}.git`;
  if (!/^git\+https:\/\/[\w.-]+\/[\w.-]+\/[\w.-]+$/.test(url))
    throw new Error(`--repository is ${address}; expected its address, such as https://github.com/OWNER/NAME.`);
  for (const folder of FOLDERS) {
    const repository = { type: "git", url, ...(folder !== "." && { directory: folder }) };
    const manifest = { ...manifestOf(folder), repository };
    writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    console.log(`${join(folder, "package.json")} names ${url}`);
  }
  console.log("Commit them.");
}

/** Reasons not to publish this checkout, each with what to do. */
async function findProblems(): Promise<readonly string[]> {
  const others = FOLDERS.filter((folder) => manifestOf(folder).version !== version);
  const isDated = new RegExp(`^## ${version.replaceAll(".", "\\.")}, \\d{4}-\\d\\d-\\d\\d$`, "m");
  const notes = isDated.test(readFileSync("CHANGELOG.md", "utf8"));
  const isTagged = git("tag", "--points-at", "HEAD").split("\n").includes(`v${version}`);
  return [
    ...others.map((folder) => `${folder} is of another version; set it to ${version}.`),
    ...(notes ? [] : [`CHANGELOG.md has no section "## ${version}, YYYY-MM-DD"; write it, or its day.`]),
    ...repositoryProblems(),
    ...(git("status", "--porcelain") === "" ? [] : ["The checkout has changes; commit them."]),
    ...(isTagged ? [] : [`This commit has no tag v${version}: git tag v${version}, and push it.`]),
    ...(await signingProblems()),
  ];
}

/** npm takes provenance of packages alone that name the repository that the run belongs to. */
function repositoryProblems(): readonly string[] {
  const { GITHUB_SERVER_URL: server = "https://github.com", GITHUB_REPOSITORY: home = "OWNER/NAME" } = process.env;
  const isHome = (url = "") => (home === "OWNER/NAME" ? url !== "" : url.includes(`${server}/${home}`));
  const wrong = FOLDERS.filter((folder) => !isHome(manifestOf(folder).repository?.url));
  if (wrong.length === 0) return [];
  const files = wrong.map((folder) => join(folder, "package.json")).join(", ");
  return [
    `Provenance needs the repository in ${files}: npm run release -- --repository ${server}/${home}, and commit them.`,
  ];
}

/** npm signs by an identity that only a workflow run has, and pushes new names by a token alone. */
async function signingProblems(): Promise<readonly string[]> {
  const { ACTIONS_ID_TOKEN_REQUEST_URL, SIGSTORE_ID_TOKEN, NODE_AUTH_TOKEN } = process.env;
  if (ACTIONS_ID_TOKEN_REQUEST_URL === undefined && SIGSTORE_ID_TOKEN === undefined)
    return [
      `Provenance is signed in a workflow run with id-token: write: gh workflow run ${WORKFLOW} --ref v${version} -f publish=true`,
    ];
  if (NODE_AUTH_TOKEN) return [];
  const names = FOLDERS.map((folder) => manifestOf(folder).name);
  const versions = await Promise.all(names.map(versionsOf));
  const fresh = names.filter((_, index) => versions[index]?.length === 0);
  if (fresh.length === 0) return [];
  return [`The registry has no ${fresh.join(", ")} yet, and no run may push a new name without the secret NPM_TOKEN.`];
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly repository?: { readonly url?: string };
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** Contents of each archive, in the order of {@link FOLDERS}. */
function packAll(): readonly { readonly folder: string; readonly packed: Packed }[] {
  const lacking = FOLDERS.map((folder) => join(folder, "dist")).filter((dist) => !existsSync(dist));
  if (lacking.length > 0) throw new Error(`${lacking.join(", ")} missing; run npm run build.`);
  const flags = ["--dry-run", "--json", "--ignore-scripts", "--workspaces", "--include-workspace-root"];
  const all: readonly Packed[] = JSON.parse(runCommand("npm", ["pack", ...flags]));
  return FOLDERS.map((folder) => {
    const { name } = manifestOf(folder);
    return { folder, packed: all.find((packed) => packed.name === name) as Packed };
  });
}

function describe({ name, version, size, unpackedSize, integrity, files }: Packed, state: string): void {
  console.log(`\n${name} ${version}: ${state}`);
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

/** The versions that the registry has; none for a name that it does not know. */
async function versionsOf(name: string): Promise<readonly string[]> {
  const view = promisify(execFile)("npm", ["view", name, "versions", "--json"]);
  const { stdout, stderr } = await view.catch((reason) => reason as { stdout: string; stderr: string });
  if (/\bE404\b/.test(stdout + stderr)) return [];
  const versions = await view.then(() => JSON.parse(stdout)).catch(() => undefined);
  if (versions !== undefined) return [versions].flat();
  throw new Error(
    `npm does not say which versions of ${name} there are; run this again once its registry answers.\n${stderr}`,
  );
}

/** The registry's versions beside this one. */
async function stateOf(name: string): Promise<string> {
  const versions = await versionsOf(name);
  if (versions.includes(version)) return "already on the registry";
  return versions.length === 0 ? "a new name on the registry" : `new, after ${versions.at(-1)}`;
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

async function publish(folder: string, { name }: Packed): Promise<void> {
  if ((await versionsOf(name)).includes(version)) {
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
