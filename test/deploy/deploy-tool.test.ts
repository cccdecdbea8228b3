import { expect, test } from "vitest";
import { builtName } from "../../deploy/cluster/deploy-tool.ts";

test.each([
  ["helm.sh/helm/v3/cmd/helm@v3.19.4", "helm"],
  ["sigs.k8s.io/kustomize/kustomize/v5@v5.7.1", "kustomize"],
  ["github.com/compose-spec/compose-go/v2/cmd@v2.16.2", "cmd"],
])("Go names the program of %s %s", (versioned, name) => {
  expect(builtName(versioned)).toBe(name);
});
