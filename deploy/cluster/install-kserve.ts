import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, parseAllDocuments, stringify } from "yaml";
import type { KservePrograms } from "./build-kserve.ts";
import type { Cluster } from "./cluster.ts";
import { waitUntil } from "./wait-until.ts";
import { IMAGES } from "./write-images.ts";

const NAMESPACE = "kserve";
const HEALTH = "127.0.0.1:8091";

/** Resources of KServe's own containers. */
const SMALL = { cpuRequest: "50m", cpuLimit: "1", memoryRequest: "50Mi", memoryLimit: "256Mi" };
const AGENT = { image: IMAGES.agent, ...SMALL };
/** Keys of KServe's settings for Standard mode in a cluster without gateways. */
const SETTINGS = {
  agent: AGENT,
  logger: { ...AGENT, defaultUrl: "http://default-broker" },
  batcher: { ...AGENT, maxBatchSize: "32", maxLatency: "5000" },
  router: { image: IMAGES.router, ...SMALL, headers: { propagate: [] }, imagePullPolicy: "IfNotPresent" },
  autoscaler: { scaleUpStabilizationWindowSeconds: "0", scaleDownStabilizationWindowSeconds: "10" },
  deploy: { defaultDeploymentMode: "Standard" },
  ingress: {
    ...{ enableGatewayApi: false, disableIngressCreation: true, disableIstioVirtualHost: true, urlScheme: "http" },
    ...{ ingressDomain: "example.com", domainTemplate: "{{ .Name }}-{{ .Namespace }}.{{ .IngressDomain }}" },
    ...{ ingressGateway: "none/none", kserveIngressGateway: "none/none", localGateway: "none/none" },
    ...{ localGatewayService: "none.none.svc.cluster.local", ingressClassName: "none" },
  },
};

/** Installs KServe from its module: definitions, settings, its controller beside the other parts, then its webhooks. */
export async function installKserve(cluster: Cluster, programs: KservePrograms): Promise<void> {
  const { place } = cluster;
  const source = join(programs.source, "config");
  await cluster.apply(stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }));
  await cluster.apply(definitions(join(source, "crd/full")), "--server-side");
  const isKnown = () => cluster.kubectl("get", "inferenceservices,clusterservingruntimes,clusterstoragecontainers");
  await waitUntil("KServe's definitions are known", () => isKnown().then(() => true));
  await cluster.apply(stringify(settings(join(source, "configmap/inferenceservice.yaml"))));
  const certificates = join(place.folder, "tmp/k8s-webhook-server/serving-certs");
  mkdirSync(certificates, { recursive: true });
  copyFileSync(place.certificate, join(certificates, "tls.crt"));
  copyFileSync(place.key, join(certificates, "tls.key"));
  const env = ["env", `TMPDIR=${join(place.folder, "tmp")}`, `POD_NAMESPACE=${NAMESPACE}`];
  const flags = ["--metrics-addr=127.0.0.1:8090", `--health-probe-addr=${HEALTH}`];
  cluster.namespaces.keep([...env, programs.controller, ...flags], join(place.logs, "kserve.log"));
  const isUp = () => cluster.namespaces.run(["curl", "-fs", `http://${HEALTH}/readyz`]);
  await waitUntil("KServe's controller is ready", async () => (await isUp()) === "ok");
  await cluster.apply(webhooks(join(source, "webhook/manifests.yaml"), place.authority));
}

/** Definitions that a predictor needs: not those of language models and of caches on nodes. */
function definitions(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.startsWith("serving."));
  const files = [...names, "clusterstoragecontainer/serving.kserve.io_clusterstoragecontainers.yaml"];
  return files.map((name) => readFileSync(join(folder, name), "utf8")).join("\n---\n");
}

function settings(file: string): object {
  const { data, ...rest } = parse(readFileSync(file, "utf8"));
  const changed = Object.entries(SETTINGS).map(([key, value]) => [key, JSON.stringify(value)]);
  return { ...rest, data: { ...data, ...Object.fromEntries(changed) } };
}

/** The controller runs outside of pods: the API server calls it by an address in place of a Service. */
function webhooks(file: string, authority: string): string {
  const caBundle = readFileSync(authority).toString("base64");
  const documents = parseAllDocuments(readFileSync(file, "utf8")).map((document) => document.toJS());
  const objects = documents.filter(Boolean).map((object) => ({
    ...object,
    webhooks: object.webhooks.map((webhook: { clientConfig: { service: { path: string } } }) => ({
      ...webhook,
      clientConfig: { url: `https://127.0.0.1:9443${webhook.clientConfig.service.path}`, caBundle },
    })),
  }));
  return objects.map((object) => stringify(object)).join("---\n");
}
