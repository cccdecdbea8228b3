import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { npmPack } from "../../runtimes/npm.ts";

/** The folder of this package, from the sources and when built. */
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** This package as an archive. */
export interface PackedPackage {
  readonly name: string;
  readonly bytes: Buffer;
  readonly sha256: string;
}

/** Packs the running program's own package, which needs no network. Throws `failed_precondition` without npm. */
export async function packProgram(root = ROOT): Promise<PackedPackage> {
  const folder = await mkdtemp(join(tmpdir(), "kserving-pack-"));
  try {
    const path = await npmPack(root, { folder: join(folder, "packed"), signal: new AbortController().signal });
    const bytes = await readFile(path);
    return { name: basename(path), bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
