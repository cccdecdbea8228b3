import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Argument, type Command } from "commander";
import { invalidArgument } from "../../errors.ts";
import { readProblem } from "../../text/read-problem.ts";
import { shellWord } from "../../text/shell-word.ts";
import { SCAFFOLD_KINDS, type ScaffoldKind, scaffoldFiles } from "../scaffold/scaffold-files.ts";
import { assertEmptyFolder } from "./assert-empty-folder.ts";
import { createParser, runParser } from "./create-parser.ts";

const EPILOGUE = `
Examples:
  kserving new hooks faces && cd faces && npm test
  kserving new driver my-driver
  kserving new project serving

The folder has a test that passes, types, and a README. It finds this kserving in its node_modules.
`;

/** `kserving new`: writes a folder to begin with. */
export async function create(argv: readonly string[]): Promise<void> {
  await runParser(createNewCommand(), argv);
}

/** The parser of `kserving new`. */
export function createNewCommand(): Command {
  return createParser("new", {
    description: "Writes a folder with hooks, a driver or a project, and its test.",
    epilogue: EPILOGUE,
  })
    .addArgument(new Argument("<kind>", "what to begin with").choices(SCAFFOLD_KINDS))
    .argument("[folder]", "a folder that is empty or not there (default: the kind's name)")
    .option("--json", "print JSON")
    .action(run);
}

async function run(
  kind: ScaffoldKind,
  given: string | undefined,
  { json = false }: { readonly json?: boolean },
): Promise<void> {
  const name = given ?? kind;
  const folder = resolve(name);
  assertEmptyFolder(folder, name);
  const packageRoot = fileURLToPath(new URL("../../../", import.meta.url)).replace(/[\\/]$/, "");
  const files = scaffoldFiles(kind, folder, packageRoot);
  try {
    mkdirSync(join(folder, "node_modules"), { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    symlinkSync(packageRoot, join(folder, "node_modules", "kserving"), "junction");
  } catch (cause) {
    throw invalidArgument(`The folder "${name}" ${readProblem(cause)}; expected one that can be written.`, cause);
  }
  if (json) return console.log(JSON.stringify({ folder, files: Object.keys(files) }, null, 2));
  console.log(
    [`${name} has ${Object.keys(files).join(", ")}.`, "", `  cd ${shellWord(name)}`, "  npm test", "  npm start"].join(
      "\n",
    ),
  );
}
