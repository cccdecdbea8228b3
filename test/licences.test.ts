import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { licenceTable, packagesByLicence, refusedPackages } from "../scripts/licences.ts";

test("docs/licences.md lists the licence of every dependency, as npm run gen writes it", () => {
  const [, table] = /<!-- licences -->\n([\s\S]*)\n<!-- end -->/.exec(readFileSync("docs/licences.md", "utf8")) ?? [];
  expect(table).toBe(licenceTable());
});

test("no dependency has a licence that is not permissive, but for libvips", () => {
  expect(
    packagesByLicence()
      .get("LGPL-3.0-or-later")
      ?.every((name) => name.includes("libvips")),
  ).toBe(true);
  expect(refusedPackages()).toEqual([]);
});
