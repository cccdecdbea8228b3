import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkOutTags } from "../../scripts/site/kept-versions.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

test("each version with a tag, but for the one that is built, is checked out to make its site, the newest first", () => {
  const repository = tempFolder({ "scripts/build-site.ts": "", "docs/a.md": "one" });
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
  git("init", "-q");
  for (const [tag, text] of Object.entries({ "v0.9.0": "nine", "v0.10.0": "ten", "v1.0.0": "this", vnext: "no" })) {
    writeFileSync(join(repository, "docs/a.md"), text);
    git("add", ".");
    git("commit", "-qm", tag);
    git("tag", tag);
  }
  git("rm", "-q", "scripts/build-site.ts");
  git("commit", "-qm", "no site yet");
  git("tag", "v0.1.0");
  const folder = join(tempFolder(), "kept");
  const kept = checkOutTags("1.0.0", folder, repository);
  expect(kept.map(({ version }) => version)).toEqual(["0.10.0", "0.9.0"]);
  expect(kept.map((each) => readFileSync(join(each.folder, "docs/a.md"), "utf8"))).toEqual(["ten", "nine"]);
  expect(existsSync(join(folder, "0.9.0/node_modules/tsx"))).toBe(true);
});
