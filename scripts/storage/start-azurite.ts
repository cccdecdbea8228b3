import { withAccess } from "../../src/storage/az/az-client.ts";
import { npmProgram } from "./installed-program.ts";
import type { RealServer } from "./real-server.ts";
import { sendRequest } from "./send-request.ts";
import { startProgram } from "./start-program.ts";

/** The account of Azurite, whose key is public: https://learn.microsoft.com/azure/storage/common/storage-use-azurite */
const ACCOUNT = "devstoreaccount1";
const ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/** Microsoft's emulator of Azure's storage, from npm. */
export async function startAzurite(): Promise<RealServer> {
  const { program, version } = await npmProgram("azurite", "azurite-blob");
  const { port, stop } = await startProgram((port, folder) => ({
    command: [
      program,
      "--silent",
      "--skipApiVersionCheck",
      "--location",
      folder,
      "--blobHost",
      "127.0.0.1",
      "--blobPort",
      String(port),
    ],
  }));
  const endpoint = `http://127.0.0.1:${port}/${ACCOUNT}`;
  const put = async (path: string, body: Uint8Array, extra: Readonly<Record<string, string>> = {}) => {
    const url = new URL(`${endpoint}/${path}`);
    const headers = { ...extra, ...(body.length > 0 && { "content-length": String(body.length) }) };
    await sendRequest(url, {
      method: "PUT",
      headers: withAccess({ method: "PUT", url, headers, account: ACCOUNT }, { accountKey: ACCOUNT_KEY }),
      body,
    });
  };
  await put("models-check?restype=container", Buffer.alloc(0));
  const connection = (own: number) =>
    `AccountName=${ACCOUNT};AccountKey=${ACCOUNT_KEY};BlobEndpoint=http://127.0.0.1:${own}/${ACCOUNT};`;
  return {
    port,
    version,
    bucket: () => "az://models-check",
    env: (own) => ({ AZURE_STORAGE_CONNECTION_STRING: connection(own) }),
    put: (key, content) =>
      put(`models-check/${key.split("/").map(encodeURIComponent).join("/")}`, content, {
        "x-ms-blob-type": "BlockBlob",
      }),
    stop,
  };
}
