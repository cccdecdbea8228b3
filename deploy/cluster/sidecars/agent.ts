import { RUNTIME } from "./with-server.ts";

/** The runtimes' readiness probe over HTTP, as a pod has it: without a host, which the agent sends as `Host: :8080`. */
export const HTTP_PROBE = {
  httpGet: { path: "/v2/health/ready", port: RUNTIME.httpPort, scheme: "HTTP" },
  ...{ timeoutSeconds: 1, periodSeconds: 2, successThreshold: 1, failureThreshold: 3 },
};
/** Port of KServe's agent. */
export const AGENT_PORT = 9081;
/** Its address. */
export const AGENT_URL = `http://127.0.0.1:${AGENT_PORT}`;

/**
 * Command line and environment of KServe's agent before a server with the runtimes' ports, as its webhook writes them.
 */
export function agentCommand(agent: string, flags: readonly string[]) {
  return {
    command: [agent, `--port=${AGENT_PORT}`, `--component-port=${RUNTIME.httpPort}`, ...flags],
    env: { SERVING_READINESS_PROBE: JSON.stringify(HTTP_PROBE) },
  };
}

/** The kubelet's question whether the agent and the server behind it are ready. */
export const READINESS = {
  url: AGENT_URL,
  headers: { "user-agent": "kube-probe/1.34", "k-network-probe": "queue" },
};
