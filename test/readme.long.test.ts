import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { linksOf } from "./helpers/links-of.ts";
import { tempFolder } from "./helpers/temp-folder.ts";

test("npm link makes the commands of the README out of the clone", () => {
  const prefix = tempFolder();
  // Its scripts would build again, and take what other tests run with from under them.
  const quiet = ["--ignore-scripts", "--offline", "--no-audit", "--no-fund"];
  execFileSync("npm", ["link", ...quiet], { env: { ...process.env, npm_config_prefix: prefix }, stdio: "pipe" });
  for (const name of ["kserving", "kibernetika-serving"]) {
    expect(execFileSync(join(prefix, "bin", name), ["--version"]).toString()).toMatch(/^\d+\.\d+\.\d+\n$/);
  }
});

test("every page of the package links to files of the package", () => {
  const quiet = ["--dry-run", "--json", "--ignore-scripts"];
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", ...quiet], { stdio: ["ignore", "pipe", "ignore"] }).toString(),
  );
  const files: string[] = packed.files.map(({ path }: { path: string }) => path);
  const isThere = (target: string) =>
    files.some((file) => file === target || file.startsWith(`${target.replace(/\/$/, "")}/`));
  const broken = files
    .filter((file) => file.endsWith(".md"))
    .flatMap((page) => linksOf(page).map((target) => ({ page, target: join(dirname(page), target) })))
    .filter(({ target }) => !isThere(target));
  expect(files).toContain("docs/models.md");
  expect(broken).toEqual([]);
});
