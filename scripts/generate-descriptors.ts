import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const PROTO_FOLDER = fileURLToPath(new URL("../proto", import.meta.url));

/**
 * Files under proto/tensorflow/core describe models; clients do not speak them, so
 * server reflection does not list them.
 */
const MODEL_FILES = `${PROTO_FOLDER}/tensorflow/core`;

/** Descriptor sets, with the files that each is made of. */
const DESCRIPTOR_SETS = [
  { name: "descriptors.binpb", choice: ["--exclude-path", MODEL_FILES] },
  { name: "tensorflow-core.binpb", choice: ["--path", MODEL_FILES] },
];

/** Files of proto/ as one FileDescriptorSet, imports included, comments left out; the same bytes each time. */
function buildDescriptors(choice: readonly string[]): Buffer {
  const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  const output = ["--as-file-descriptor-set", "--exclude-source-info", "--output", "-"];
  return execFileSync(process.execPath, [buf, "build", PROTO_FOLDER, ...choice, ...output]);
}

function isCurrent(path: string, descriptors: Buffer): boolean {
  return existsSync(path) && descriptors.equals(readFileSync(path));
}

for (const { name, choice } of DESCRIPTOR_SETS) {
  const path = `${PROTO_FOLDER}/${name}`;
  const descriptors = buildDescriptors(choice);
  if (!argv.includes("--check")) {
    writeFileSync(path, descriptors);
  } else if (!isCurrent(path, descriptors)) {
    console.error(`proto/${name} is stale; run: npm run gen`);
    process.exitCode = 1;
  }
}
