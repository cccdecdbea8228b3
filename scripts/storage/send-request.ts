/** Sends a request that has to succeed; what is there already may stay. */
export async function sendRequest(
  url: string | URL,
  { headers, ...init }: { method: string; headers?: Record<string, string>; body?: Uint8Array | string },
): Promise<void> {
  // fetch writes these itself.
  const { host: _, "content-length": __, ...rest } = headers ?? {};
  const response = await fetch(url, { ...init, headers: rest, body: init.body as string });
  if (!response.ok && response.status !== 409)
    throw new Error(`${url} answers ${response.status}: ${await response.text()}`);
}
