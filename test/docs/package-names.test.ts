import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const MANIFESTS = ["package.json", ...filesOf("packages/*/package.json")].map((file) =>
  JSON.parse(readFileSync(file, "utf8")),
);
/** Names that npm may be given: ours by our own manifests, and what these depend on. */
const OURS: readonly string[] = MANIFESTS.map(({ name }) => name);
const KNOWN: readonly string[] = MANIFESTS.flatMap((manifest) =>
  ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"].flatMap((kind) =>
    Object.keys(manifest[kind] ?? {}),
  ),
);
/** Programs of others that documents run beside ours. */
const OTHERS = ["autocannon"];

/** Names that npm would fetch, by `npm install`, `npm i`, `npm create` or `npx`, with their flags before. */
const FETCHES = /\b(npm (?:install|i|add|exec|create)|npx)((?: +-[-\w=.]+)*) +([^\s`'"|;&)\\]+)/g;
/** The same in the configuration of a program that starts others. */
const LISTED = /"command": *"(npx)", *"args": *\[((?:"-[^"]*", *)*)"([^"]+)"/g;

function filesOf(...patterns: string[]): string[] {
  return execFileSync("git", ["ls-files", ...patterns], { encoding: "utf8" })
    .trim()
    .split("\n");
}

interface Fetch {
  readonly place: string;
  readonly command: string;
  readonly flags: string;
  readonly name: string;
  /** The lines around it without an empty one. */
  readonly paragraph: string;
}

const fetches: readonly Fetch[] = filesOf("*.md", "src", "examples", "packages", ".github").flatMap((file) =>
  readFileSync(file, "utf8")
    .split(/\n\s*\n/)
    .flatMap((paragraph) =>
      [FETCHES, LISTED].flatMap((pattern) =>
        [...paragraph.matchAll(pattern)].map(([text, command = "", flags = "", name = ""]) => ({
          ...{ place: `${file}: ${text}`, command, flags, paragraph },
          name: command === "npm create" ? `create-${name}` : name,
        })),
      ),
    ),
);

/** A name of the registry, not a path, a placeholder, a pattern or a word of a sentence. */
const packages = fetches.filter(
  ({ name }) => /^@?[a-z][\w./-]*$/.test(name) && !/^(?:and|adds|or|put|then)$/.test(name),
);

const bare = (name: string) => name.replace(/(?<=.)@.*/, "");

test("npm is given names of ours, and of what we depend on, alone", () => {
  const unknown = packages.filter(({ name }) => ![...OURS, ...KNOWN, ...OTHERS].includes(bare(name)));
  expect(packages.length).toBeGreaterThan(15);
  expect(unknown.map(({ place }) => place)).toEqual([]);
});

/** Files that are read once there are packages: these themselves, what they run, and the list of releases. */
const PUBLISHED = /^(?:packages\/|src\/cli\/scaffold\/create\.ts:|CHANGELOG\.md:)/;

test("npm is given a name of ours only beside the words that say that it is to be published", () => {
  const ours = packages.filter(
    ({ place, command, name }) => command !== "npx" && OURS.includes(bare(name)) && !PUBLISHED.test(place),
  );
  expect(ours.length).toBeGreaterThan(1);
  expect(ours.filter(({ paragraph }) => !/\bpublished\b/.test(paragraph)).map(({ place }) => place)).toEqual([]);
});

/** Files that say `npx kserving` of a project that has it. */
const INSTALLED = ["src/cli/error-text.ts", "docs/comparison.md"];

test("npx never fetches the server by its name, which is ours where it is installed", () => {
  const fetching = packages.filter(
    ({ place, name, command, flags }) =>
      command === "npx" &&
      OURS.includes(name) &&
      !/--no\b/.test(flags) &&
      !INSTALLED.includes(place.replace(/:.*/, "")),
  );
  expect(fetching.map(({ place }) => place)).toEqual([]);
});

test("what export writes installs the program's own file, and otherwise what it depends on", () => {
  const files = filesOf("src/tools/export", "deploy/docker/Dockerfile");
  const installs = files.flatMap((file) => readFileSync(file, "utf8").match(/npm install[^&\n]*/g) ?? []);
  expect(installs.length).toBeGreaterThan(1);
  expect(installs.filter((command) => / kserving(?![-\w]*\.tgz)\b/.test(command))).toEqual([]);
});

test("every import of a document and of an example is of a package that there is", () => {
  const lost = filesOf("*.md", "examples").flatMap((file) => {
    const imports = readFileSync(file, "utf8").matchAll(/^import [^"\n]* from "([^".][^"]*)";$/gm);
    return [...imports].flatMap(([line, path = ""]) => {
      const name = path.startsWith("@") ? path.split("/").slice(0, 2).join("/") : path.replace(/\/.*/, "");
      return path.startsWith("node:") || [...OURS, ...KNOWN].includes(name) ? [] : [`${file}: ${line}`];
    });
  });
  expect(lost).toEqual([]);
});
