import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";

const TOOLS = {
  helm: "helm.sh/helm/v3/cmd/helm@v3.19.4",
  kustomize: "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
};

/** Builds a tool in a folder unless it is there; returns its file. Needs Go 1.26. */
export function deployTool(name: keyof typeof TOOLS, folder: string): string {
  const program = join(folder, name);
  mkdirSync(folder, { recursive: true });
  if (!existsSync(program)) runCommand("env", [`GOBIN=${folder}`, "CGO_ENABLED=0", "go", "install", TOOLS[name]]);
  return program;
}
