import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The page whose table has the weight of each package; a figure that grows by a tenth has to be changed there. */
const PAGE = fileURLToPath(new URL("../docs/platforms.md", import.meta.url));
const MARGIN = 1.1;

/** Size of an installation. */
interface Weight {
  /** Bytes of the archive. */
  readonly packed: number;
  /** Packages in the folder, this one and what came with it. */
  readonly packages: number;
  /** Bytes of their files. */
  readonly installed: number;
}

/** Prints what a package weighs that was installed alone in a folder; throws if that is more than the page says. */
export function checkWeight(name: string, folder: string, packed: number): void {
  const weight = { packed, ...installedIn(folder) };
  const { packages, installed } = weight;
  console.log(`${name}: packed ${megabytes(packed)} MB, installed ${packages} packages, ${megabytes(installed)} MB`);
  const said = readWeight(name);
  for (const key of ["packed", "packages", "installed"] as const)
    assert.ok(
      weight[key] <= said[key] * MARGIN,
      `${name}: ${key} is ${weight[key]}, a tenth more than the ${said[key]} of docs/platforms.md`,
    );
}

function installedIn(folder: string): Omit<Weight, "packed"> {
  const { packages } = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8"));
  const files = readdirSync(join(folder, "node_modules"), { recursive: true, withFileTypes: true });
  const sizes = files.flatMap((file) => (file.isFile() ? statSync(join(file.parentPath, file.name)).size : []));
  return { packages: Object.keys(packages).length, installed: sizes.reduce((sum, size) => sum + size, 0) };
}

/** A package's row: its name, MB of the archive, packages, and MB that they have installed. */
function readWeight(name: string): Weight {
  const row = new RegExp(`^\\| \`${name}\` \\| ([\\d.]+) \\| (\\d+) \\| ([\\d.]+) \\|`, "m");
  const [, packed, packages, installed] = row.exec(readFileSync(PAGE, "utf8")) ?? [];
  assert.ok(installed !== undefined, `docs/platforms.md has no row of ${name}`);
  return { packed: Number(packed) * 1e6, packages: Number(packages), installed: Number(installed) * 1e6 };
}

/** Two digits, since archives of the smallest are hundredths of a megabyte. */
function megabytes(bytes: number): string {
  return (bytes / 1e6).toPrecision(bytes < 1e6 ? 2 : 3);
}
