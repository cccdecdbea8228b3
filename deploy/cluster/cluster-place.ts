import { join } from "node:path";

/** Address of the cluster's only node. */
export const NODE_ADDRESS = "192.0.2.10";
/** Addresses of Services, and the first of them, which is the API's own. */
export const SERVICE_RANGE = "10.96.0.0/16";
/** Address of the API server's Service. */
export const API_ADDRESS = "10.96.0.1";
/** Control group of all pods. */
export const CONTROL_GROUP = "kserving-check";
/** Socket of containerd in the cluster's own /run. */
export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";
/** Image of the container that holds a pod's network. */
export const PAUSE_IMAGE = "registry.local/pause:1";

/** Files of a cluster below its folder, by what they are. */
export interface ClusterPlace {
  readonly folder: string;
  readonly logs: string;
  readonly authority: string;
  readonly authorityKey: string;
  /** Certificate of all parts, each of which is an administrator. */
  readonly certificate: string;
  readonly key: string;
  /** Key that signs the tokens of service accounts. */
  readonly accountKey: string;
  readonly kubeconfig: string;
}

/** Names the files of a cluster in a folder. */
export function clusterPlace(folder: string): ClusterPlace {
  const at = (name: string) => join(folder, name);
  return {
    folder,
    logs: at("logs"),
    authority: at("ca.crt"),
    authorityKey: at("ca.key"),
    certificate: at("admin.crt"),
    key: at("admin.key"),
    accountKey: at("accounts.key"),
    kubeconfig: at("kubeconfig.json"),
  };
}
