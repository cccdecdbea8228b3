import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../test/helpers/run-command.ts";

const TOOLS = {
  helm: "helm.sh/helm/v3/cmd/helm@v3.19.4",
  kustomize: "sigs.k8s.io/kustomize/kustomize/v5@v5.7.1",
  /** The library by which Docker Compose reads its files. */
  "compose-go": "github.com/compose-spec/compose-go/v2/cmd@v2.16.2",
  kubeconform: "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0",
};

/** Builds a tool in a folder unless it is there; returns its file. Needs Go 1.26. */
export function deployTool(name: keyof typeof TOOLS, folder: string): string {
  const program = join(folder, name);
  mkdirSync(folder, { recursive: true });
  if (existsSync(program)) return program;
  runCommand("env", [`GOBIN=${folder}`, "CGO_ENABLED=0", "go", "install", TOOLS[name]]);
  const built = builtName(TOOLS[name]);
  if (built !== name) renameSync(join(folder, built), program);
  return program;
}

/** The name that Go gives to the program of a package: that of its folder, but for one that is a major version. */
export function builtName(versioned: string): string {
  const [path = ""] = versioned.split("@", 1);
  return path.split("/").findLast((folder) => !/^v\d+$/.test(folder)) ?? path;
}
