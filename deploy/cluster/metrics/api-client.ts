import { once } from "node:events";
import { readFileSync } from "node:fs";
import { get } from "node:https";
import { text } from "node:stream/consumers";
import type { ClusterPlace } from "../cluster-place.ts";

/** A pod, as far as its metrics go. */
export interface MeasuredPod {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly containers: readonly { readonly name: string }[] };
  readonly status: { readonly phase: string; readonly podIP?: string };
}

/** Certificates that the API server knows as an administrator's. */
export type Certificates = Readonly<Record<"cert" | "key" | "ca", Buffer>>;

/** Reads the certificates of a cluster. */
export function readCertificates({ authority, certificate, key }: ClusterPlace): Certificates {
  return { ca: readFileSync(authority), cert: readFileSync(certificate), key: readFileSync(key) };
}

/** Reads from the API server. */
export async function readApi(path: string, certificates: Certificates): Promise<string> {
  const sent = get({ host: "127.0.0.1", port: 6443, path, ...certificates });
  const [answer] = await once(sent, "response");
  return text(answer);
}

/** Reads the pods of a namespace that have the labels, given as Kubernetes' clients write them. */
export async function readPods(
  namespace: string,
  labels: string | null,
  certificates: Certificates,
): Promise<readonly MeasuredPod[]> {
  const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(labels ?? "")}`;
  return JSON.parse(await readApi(path, certificates)).items;
}
