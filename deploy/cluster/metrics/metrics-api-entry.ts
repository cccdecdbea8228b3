/**
 * Two APIs of metrics for HorizontalPodAutoscalers, in place of metrics-server and prometheus-adapter: what containers
 * use, from the kubelet, and gauges of the pods, from the text for Prometheus at their port "metrics".
 */
import { createServer } from "node:https";
import { clusterPlace, NODE_ADDRESS } from "../cluster-place.ts";
import { type MeasuredPod, readCertificates, readPods } from "./api-client.ts";
import { UsageSamples } from "./usage-samples.ts";

const USAGE = "metrics.k8s.io/v1beta1";
const GAUGES = "custom.metrics.k8s.io/v1beta2";
/** Port of the chart's metrics. */
const METRICS_PORT = 9002;
const [folder, port] = process.argv.slice(2) as [string, string];
const certificates = readCertificates(clusterPlace(folder));
const samples = new UsageSamples(certificates);

createServer(certificates, async (request, response) => {
  const body = await answer(new URL(request.url as string, "https://here")).catch((reason: Error) => ({
    ...{ kind: "Status", apiVersion: "v1", status: "Failure", code: 500, message: reason.message },
  }));
  const status = "code" in body ? (body.code as number) : 200;
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}).listen(Number(port), NODE_ADDRESS);

async function answer({ pathname: encoded, searchParams }: URL): Promise<object> {
  const pathname = decodeURIComponent(encoded);
  if (pathname === `/apis/${USAGE}`) return resources(USAGE, "pods", "PodMetrics");
  if (pathname === `/apis/${GAUGES}`) return resources(GAUGES, "pods/kserving_requests_in_flight", "MetricValueList");
  const [, group, namespace, gauge] =
    /^\/apis\/([^/]+\/[^/]+)\/namespaces\/([^/]+)\/pods(?:\/\*\/(\w+))?$/.exec(pathname) ?? [];
  if (group === undefined || namespace === undefined)
    return { kind: "Status", apiVersion: "v1", status: "Failure", code: 404, message: `${pathname} is not here` };
  const pods = await readPods(namespace, searchParams.get("labelSelector"), certificates);
  const items =
    gauge === undefined
      ? pods.map((pod) => samples.of(namespace, pod))
      : await Promise.all(pods.map((pod) => gaugeOf(gauge, namespace, pod)));
  const kind = gauge === undefined ? "PodMetricsList" : "MetricValueList";
  return { kind, apiVersion: group, metadata: {}, items: items.filter((item) => item !== undefined) };
}

function resources(groupVersion: string, name: string, kind: string): object {
  const resource = { name, singularName: "", namespaced: true, kind, verbs: ["get", "list"] };
  return { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [resource] };
}

/** A pod that does not answer has no value, as with prometheus-adapter. */
async function gaugeOf(
  gauge: string,
  namespace: string,
  { metadata, status }: MeasuredPod,
): Promise<object | undefined> {
  if (status.phase !== "Running" || status.podIP === undefined) return undefined;
  try {
    const answered = await fetch(`http://${status.podIP}:${METRICS_PORT}/metrics`, {
      signal: AbortSignal.timeout(2000),
    });
    const [, value] = new RegExp(`^${gauge} (\\S+)`, "m").exec(await answered.text()) ?? [];
    if (value === undefined) return undefined;
    const describedObject = { kind: "Pod", apiVersion: "/v1", namespace, name: metadata.name };
    return { describedObject, metric: { name: gauge }, timestamp: new Date().toISOString(), value };
  } catch {
    return undefined;
  }
}
