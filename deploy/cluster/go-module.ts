import { runCommand } from "../../test/helpers/run-command.ts";

/** Downloads a Go module, `PATH@VERSION`; returns its folder and the file of its requirements. Needs Go. */
export function goModule(module: string, cwd: string): { readonly Dir: string; readonly GoMod: string } {
  return JSON.parse(runCommand("go", ["mod", "download", "-json", module], { cwd }));
}
