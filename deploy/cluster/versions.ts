/** The newest version of Kubernetes that the manifests are tried with: KServe below is built with its modules. */
export const KUBERNETES = "1.34.3";

/** The version of KServe that the runtimes are tried with. */
export const KSERVE = "0.17.0";

/** The version of Knative Serving that this KServe is built with. */
export const KNATIVE = "0.48.1";

/** Go modules of these. */
export const KSERVE_MODULE = { path: "github.com/kserve/kserve", version: KSERVE };
export const KNATIVE_MODULE = { path: "knative.dev/serving", version: KNATIVE };
