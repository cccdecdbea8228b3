import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { runCommand } from "../../test/helpers/run-command.ts";
import { goModule } from "./go-module.ts";

/** A Go module of our own that a program is built in. */
export interface ModuleBuild {
  /** Lines of its go.mod. */
  readonly lines: readonly string[];
  readonly packageName: string;
  /** Words for the linker. */
  readonly flags?: readonly string[];
  /** Writes its source files; none are needed for a program of a required module. */
  readonly writeSource?: (folder: string) => void;
}

/** Builds a Go program, unless it is there; returns its file. Needs Go. */
export function buildModule(program: string, describe: (folder: string) => ModuleBuild): string {
  if (existsSync(program)) return program;
  const folder = `${program}.module`;
  mkdirSync(folder, { recursive: true });
  console.log(`building ${program}`);
  const { lines, packageName, flags = [], writeSource } = describe(folder);
  writeSource?.(folder);
  writeFileSync(`${folder}/go.mod`, `${lines.join("\n")}\n`);
  const go = ["CGO_ENABLED=0", "go"];
  runCommand("env", [...go, "mod", "tidy"], { cwd: folder });
  const out = `${program}.built`;
  const linking = ["-ldflags", ["-s", "-w", ...flags].join(" ")];
  runCommand("env", [...go, "build", "-buildvcs=false", ...linking, "-o", out, packageName], { cwd: folder });
  renameSync(out, program);
  rmSync(folder, { recursive: true });
  return program;
}

/** A module and its version, such as `github.com/kserve/kserve` 0.17.0. */
export interface ModuleVersion {
  readonly path: string;
  readonly version: string;
}

/**
 * Lines of a go.mod that requires a module as the module builds itself: replacements
 * count only where they are repeated.
 */
export function requireModule({ path, version }: ModuleVersion, folder: string): readonly string[] {
  const { GoMod } = goModule(`${path}@v${version}`, folder);
  return [
    "module program",
    ...linesOf(readFileSync(GoMod, "utf8"), /^(go|godebug|replace) /),
    `require ${path} v${version}`,
  ];
}

/** Builds a program of a module as it is, unless it is there; returns its file. Needs Go. */
export function buildTool(program: string, module: ModuleVersion, command: string): string {
  const packageName = `${module.path}/${command}`;
  return buildModule(program, (folder) => ({
    lines: [...requireModule(module, folder), `tool ${packageName}`],
    packageName,
  }));
}

/** Lines of a text that fit a pattern. */
export function linesOf(text: string, pattern: RegExp): readonly string[] {
  return text.split("\n").filter((line) => pattern.test(line));
}
