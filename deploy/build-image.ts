/**
 * Builds targets of deploy/docker/Dockerfile without an engine and without a registry of images, by the steps of that
 * file, and prints their sizes: npm run build:image -- [--build-arg NAME=VALUE]... [TARGET]... (needs root, debootstrap
 * and GNU tar). The archives are in .cache/image.
 */
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runCommand } from "../test/helpers/run-command.ts";
import { type BuiltImage, buildTarget } from "./image/build-target.ts";
import { readPairs } from "./image/read-dockerfile.ts";
import { writeOciArchive } from "./image/write-oci-archive.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const docker = join(root, "deploy/docker");
const work = join(root, ".cache/image");
const context = join(work, "context");
const { values, positionals: targets } = parseArgs({
  allowPositionals: true,
  options: { "build-arg": { type: "string", multiple: true, default: [] } },
});
const args = readPairs(values["build-arg"].join(" "));
const built = new Map<string, BuiltImage>();

rmSync(context, { recursive: true, force: true });
mkdirSync(context, { recursive: true });
for (const name of readdirSync(docker)) if (name.endsWith(".sh")) copyFileSync(join(docker, name), join(context, name));
runCommand("npm", ["pack", "--ignore-scripts", "--pack-destination", context], { cwd: root });

console.log("| target | compressed | on disk |\n| --- | --- | --- |");
for (const target of targets.length === 0 ? ["base"] : targets) {
  const image = buildTarget(target, { dockerfile: join(docker, "Dockerfile"), context, work, args }, built);
  writeFileSync(join(work, `${target}.json`), JSON.stringify(image));
  const bytes = await writeOciArchive(image, `kserving:${target}`, join(work, `kserving-${target}.tar`));
  const [kilobytes] = runCommand("du", ["-sk", image.root]).split("\t");
  console.log(`| ${target} | ${Math.round(bytes / 1e6)} MB | ${Math.round(Number(kilobytes) / 1000)} MB |`);
}
