import { readFileSync } from "node:fs";

/** Licences whose terms go well with Apache-2.0, in whatever a user makes of the package. */
const PERMISSIVE = new Set(["0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT"]);
/** Packages with libvips, a library under the LGPL that sharp loads as a file of its own, which anyone may replace. */
const LIBVIPS = /^@img\/sharp-(?:libvips-\w|wasm32$|win32-)/;

interface LockedPackage {
  readonly dev?: boolean;
  readonly license?: string;
  readonly link?: true;
}

/** The packages that an installation may have, by their licences; every platform's parts are among them. */
export function packagesByLicence(): ReadonlyMap<string, readonly string[]> {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  const found = new Map<string, Set<string>>();
  for (const [path, { dev, license, link }] of Object.entries(packages)) {
    // Others are folders of this repository.
    const name = /(?:^|.*\/)node_modules\/(.+)$/.exec(path)?.[1];
    if (name === undefined || dev || link) continue;
    const licence = license ?? licenceOf(path);
    found.set(licence, (found.get(licence) ?? new Set()).add(name));
  }
  return new Map([...found].sort().map(([licence, names]) => [licence, [...names].sort()]));
}

/** Old packages have a list of objects in place of a text. */
function licenceOf(path: string): string {
  const { licenses = [] } = JSON.parse(readFileSync(`${path}/package.json`, "utf8")) as {
    licenses?: { type: string }[];
  };
  return licenses.map(({ type }) => type).join(" AND ") || "none";
}

/** Packages whose licences are neither permissive nor an exception that docs/licences.md gives a reason for. */
export function refusedPackages(): readonly string[] {
  return [...packagesByLicence()].flatMap(([licence, names]) => {
    const terms = licence.replace(/[()]/g, "").split(/ (?:AND|OR) /);
    if (terms.every((term) => PERMISSIVE.has(term))) return [];
    const isLibvips = (name: string) =>
      LIBVIPS.test(name) && terms.every((term) => PERMISSIVE.has(term) || term === "LGPL-3.0-or-later");
    return names.filter((name) => !isLibvips(name)).map((name) => `${name} (${licence})`);
  });
}

/** The table of docs/licences.md. */
export function licenceTable(): string {
  const rows = [...packagesByLicence()].map(
    ([licence, names]) => `| ${licence} | ${names.map((name) => `\`${name}\``).join(", ")} |`,
  );
  return ["| licence | packages |", "| --- | --- |", ...rows].join("\n");
}
