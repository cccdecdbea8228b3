import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { invalidArgument } from "../../errors.ts";
import { outputProblem } from "../../platform/text/file-problem.ts";
import { shellWord } from "../../platform/text/terminal.ts";
import {
  agentsText,
  DRIVER_FILES,
  HOOK_FILES,
  PROJECT_FILES,
  type Scaffold,
  type ScaffoldFiles,
  testOf,
} from "./scaffold.ts";

/** Kinds of folders that need no server to be written. */
export const KINDS = { hooks: HOOK_FILES, driver: DRIVER_FILES, project: PROJECT_FILES } satisfies Readonly<
  Record<string, Scaffold>
>;

/** The name of one of {@link KINDS}. */
export type FolderKind = keyof typeof KINDS;

/** Versions of the packages that an editor and the compiler need. */
const TYPES = { "@types/node": "^20.19.0", typescript: ">=5.7" };

/** The kserving of a folder: a link to the folder of a program that is there, or a version that npm gets. */
type Program = { readonly linked: string } | { readonly version: string };

/** All files of a new folder. */
export function scaffoldFiles(scaffold: Scaffold, to: { readonly folder: string } & Program): ScaffoldFiles {
  const { start, files } = scaffold;
  const test = testOf(files) === undefined ? {} : { test: "node --test" };
  const manifest = {
    name: packageName(to.folder),
    private: true,
    type: "module",
    scripts: { start, ...test, typecheck: "tsc" },
    dependencies: { kserving: "linked" in to ? `file:${to.linked}` : `^${to.version}` },
    devDependencies: TYPES,
  };
  const all = {
    "package.json": toText(manifest),
    "tsconfig.json": toText(compilerChoices(files)),
    ".gitignore": "node_modules/\n",
    "AGENTS.md": agentsText(scaffold),
    ...files,
  };
  return "linked" in to ? all : mapTexts(all, installedFirst);
}

/** Writes files and whatever else `finish` does into the new folder `name`; throws `invalid_argument` if it cannot. */
export function writeFolder(name: string, files: ScaffoldFiles, finish = () => {}): void {
  try {
    mkdirSync(name, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(name, file), text);
    finish();
  } catch (cause) {
    throw invalidArgument(`The folder "${name}" ${outputProblem(cause)}; expected one that can be written.`, cause);
  }
}

/** The files of a folder that was written, and the commands to go on with, `first` of them first. */
export function nextCommands(name: string, files: ScaffoldFiles, first: readonly string[] = []): string {
  const test = testOf(files) === undefined ? [] : ["npm test"];
  const commands = [`cd ${shellWord(name)}`, ...first, ...test, "npm start"];
  return [`${name} has ${Object.keys(files).join(", ")}.`, "", ...commands.map((command) => `  ${command}`)].join("\n");
}

function packageName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replace(/[^a-z0-9._-]/g, "-")
    .replace(/^[._]+/, "");
  return name || "serving";
}

function toText(content: object): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** A program in JavaScript has types too. */
function compilerChoices(files: ScaffoldFiles): object {
  const programs = Object.keys(files).filter((file) => file.endsWith(".mjs") && !file.endsWith(".test.mjs"));
  const compilerOptions = { ...COMPILER, ...(programs.length > 0 && { allowJs: true }) };
  return { compilerOptions, include: ["*.ts", ...programs] };
}

const COMPILER = {
  ...{ strict: true, noEmit: true, skipLibCheck: true, noUncheckedIndexedAccess: true },
  ...{ target: "es2023", module: "nodenext", types: ["node"], allowImportingTsExtensions: true },
};

function mapTexts(files: ScaffoldFiles, change: (text: string) => string): ScaffoldFiles {
  return Object.fromEntries(Object.entries(files).map(([file, text]) => [file, change(text)]));
}

/** Without a link nothing runs before npm has been there. */
function installedFirst(text: string): string {
  return text
    .replace(/^ {4}npm test/m, "    npm install\n    npm test")
    .replace(/npm install && (npm run typecheck)( #)?/, (_, command: string, mark?: string) =>
      mark === undefined ? command : `${command.padEnd(32)}${mark}`,
    );
}
