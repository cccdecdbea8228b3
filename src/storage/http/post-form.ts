import { httpRequest } from "./http-request.ts";
import { readJson } from "./read-body.ts";
import { statusError } from "./status-error.ts";

/** Time for a token, in milliseconds. */
const MAX_MS = 30_000;

/** Posts a form and reads the JSON of the answer, as OAuth 2.0 has it; `access` says how access is given. */
export async function postForm(
  url: URL,
  form: Readonly<Record<string, string>>,
  access: string,
): Promise<Readonly<Record<string, unknown>>> {
  const body = new URLSearchParams(form).toString();
  const headers = {
    "content-type": "application/x-www-form-urlencoded",
    "content-length": String(Buffer.byteLength(body)),
    accept: "application/json",
  };
  const response = await httpRequest(url, { method: "POST", headers, body, signal: AbortSignal.timeout(MAX_MS) });
  if (response.statusCode !== 200) throw await statusError(response, access);
  return ((await readJson(response)) ?? {}) as Readonly<Record<string, unknown>>;
}
