/** Milliseconds that a server has spent on requests, in all. */
export interface ServerParts {
  /** From a request's last byte until its model could begin. */
  readonly decodeMs: number;
  /** From a model's outputs until the answer was written. */
  readonly encodeMs: number;
}

/** Reads the parts of all requests so far from a server's metrics. */
export async function readServerParts(httpPort: number): Promise<ServerParts> {
  const response = await fetch(`http://127.0.0.1:${httpPort}/metrics`);
  const text = await response.text();
  return { decodeMs: sumOf(text, "decode"), encodeMs: sumOf(text, "encode") };
}

function sumOf(metrics: string, part: string): number {
  const lines = metrics.matchAll(new RegExp(`^kserving_request_${part}_seconds_sum(?:\\{.*\\})? (\\S+)$`, "gm"));
  return [...lines].reduce((sum, [, seconds]) => sum + Number(seconds) * 1000, 0);
}
