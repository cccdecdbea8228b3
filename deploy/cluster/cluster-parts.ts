import { join } from "node:path";
import { type ClusterPlace, NODE_ADDRESS, SERVICE_RANGE } from "./cluster-place.ts";

/** Command lines of the parts by their names; those of Kubernetes itself begin with `kube`. */
export function clusterParts(place: ClusterPlace, kube: string): Readonly<Record<string, readonly string[]>> {
  const { folder, authority, certificate, key, accountKey, kubeconfig } = place;
  const local = "--bind-address=127.0.0.1";
  const etcd = "http://127.0.0.1:2379";
  return {
    etcd: [
      ...["etcd", `--data-dir=${join(folder, "etcd")}`, "--unsafe-no-fsync"],
      ...[
        `--listen-client-urls=${etcd}`,
        `--advertise-client-urls=${etcd}`,
        "--listen-peer-urls=http://127.0.0.1:2380",
      ],
    ],
    containerd: ["containerd", `--config=${join(folder, "containerd.toml")}`],
    "kube-apiserver": [
      ...[kube, "kube-apiserver", `--etcd-servers=${etcd}`, `--service-cluster-ip-range=${SERVICE_RANGE}`],
      ...[
        "--secure-port=6443",
        `--advertise-address=${NODE_ADDRESS}`,
        "--allow-privileged",
        "--authorization-mode=RBAC",
      ],
      ...[`--client-ca-file=${authority}`, `--tls-cert-file=${certificate}`, `--tls-private-key-file=${key}`],
      ...[`--kubelet-client-certificate=${certificate}`, `--kubelet-client-key=${key}`],
      ...[`--proxy-client-cert-file=${certificate}`, `--proxy-client-key-file=${key}`],
      ...[`--requestheader-client-ca-file=${authority}`, "--requestheader-username-headers=X-Remote-User"],
      ...["--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-"],
      ...[`--service-account-key-file=${accountKey}`, `--service-account-signing-key-file=${accountKey}`],
      "--service-account-issuer=https://kubernetes.default.svc",
      // There is no name server; the node's name would be looked up.
      ...["--kubelet-preferred-address-types=InternalIP", "--enable-aggregator-routing"],
      // It asks etcd for what Debian's has not.
      "--feature-gates=SizeBasedListCostEstimate=false",
    ],
    "kube-controller-manager": [
      ...[kube, "kube-controller-manager", `--kubeconfig=${kubeconfig}`, `--root-ca-file=${authority}`, local],
      ...[`--service-account-private-key-file=${accountKey}`, "--leader-elect=false", "--pvclaimbinder-sync-period=2s"],
      // A tenth of the usual times, so that the check does not wait.
      ...["--horizontal-pod-autoscaler-sync-period=5s", "--horizontal-pod-autoscaler-initial-readiness-delay=5s"],
      "--horizontal-pod-autoscaler-cpu-initialization-period=10s",
    ],
    "kube-scheduler": [kube, "kube-scheduler", `--kubeconfig=${kubeconfig}`, "--leader-elect=false", local],
    kubelet: [
      ...[kube, "kubelet", `--config=${join(folder, "kubelet.json")}`, `--kubeconfig=${kubeconfig}`],
      ...["--hostname-override=node1", `--node-ip=${NODE_ADDRESS}`],
      ...[`--root-dir=${join(folder, "kubelet")}`, `--cert-dir=${join(folder, "kubelet/pki")}`],
    ],
    "kube-proxy": [kube, "kube-proxy", `--config=${join(folder, "proxy.json")}`],
  };
}
