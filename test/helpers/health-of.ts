/** The status of `GET /health`, or 0 where there is no answer. */
export function healthOf({ httpUrl }: { readonly httpUrl: string }): Promise<number> {
  return fetch(`${httpUrl}/health`).then(
    ({ status }) => status,
    () => 0,
  );
}
