import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const PROTO_FOLDER = fileURLToPath(new URL("../proto", import.meta.url));
const DESCRIPTORS = fileURLToPath(new URL("../proto/descriptors.binpb", import.meta.url));

/** proto/ as one FileDescriptorSet, imports included, comments left out; the same bytes each time. */
function buildDescriptors(): Buffer {
  const buf = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  const output = ["--as-file-descriptor-set", "--exclude-source-info", "--output", "-"];
  return execFileSync(process.execPath, [buf, "build", PROTO_FOLDER, ...output]);
}

function isCurrent(descriptors: Buffer): boolean {
  return existsSync(DESCRIPTORS) && descriptors.equals(readFileSync(DESCRIPTORS));
}

const descriptors = buildDescriptors();
if (!argv.includes("--check")) {
  writeFileSync(DESCRIPTORS, descriptors);
} else if (!isCurrent(descriptors)) {
  console.error("proto/descriptors.binpb is stale; run: npm run gen");
  process.exitCode = 1;
}
