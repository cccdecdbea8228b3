import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import type { Sidecars } from "../build-sidecars.ts";
import { runProgram } from "../run-program.ts";

const FILES = { knative: "deploy/kserve/knative.yaml", standard: "deploy/kserve/runtimes.yaml" };

/** Has Knative check Services with the pods of deploy/kserve/knative.yaml, which KServe copies from the runtimes. */
export async function checkKnativeServices({ knative }: Sidecars): Promise<string> {
  const services = servicesOf(FILES.knative);
  for (const service of services) await runProgram([knative], { input: JSON.stringify(service) });
  // It is a check only if it refuses what Knative refuses.
  const [standard] = servicesOf(FILES.standard);
  await assert.rejects(
    runProgram([knative], { input: JSON.stringify(standard) }),
    /more than one container port is set/,
  );
  return `${services.length} of ${FILES.knative} are taken, and the ports of ${FILES.standard} are not`;
}

/** A Service for each runtime of a file. */
function servicesOf(file: string): readonly object[] {
  const runtimes = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS());
  return runtimes.map(({ metadata: { name }, spec: { annotations, containers, volumes } }) => ({
    ...{ apiVersion: "serving.knative.dev/v1", kind: "Service", metadata: { name, namespace: "models" } },
    spec: { template: { metadata: { annotations }, spec: { containers, volumes } } },
  }));
}
