/** The newest version of Kubernetes that the manifests are tried with: KServe below is built with its modules. */
export const KUBERNETES = "1.34.3";

/** The version of KServe that the runtimes are tried with. */
export const KSERVE = "0.17.0";
