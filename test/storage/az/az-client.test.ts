import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { openStorage } from "../open-storage.ts";
import { setEnv } from "../set-env.ts";
import { startWeb } from "../start-web.ts";
import { TOY_ACCOUNT, ToyAz } from "./start-az.ts";

let containers = 0;

async function openContainer(objects: Readonly<Record<string, string | Buffer>>) {
  const container = `toy-az-${containers++}`;
  const az = await ToyAz.start(container, objects);
  return { az, at: (key: string) => `az://${container}/${key}`, ...openStorage() };
}

test("a folder is downloaded with its names, in a list of several parts, signed with the account's key", async () => {
  const { az, at, fetch } = await openContainer({ "m/1/a.onnx": "one", "m/1/deep er/ü+&<?.bin": "two", "m10/x": "" });
  setEnv({ AZURE_STORAGE_KEY: TOY_ACCOUNT.key });
  az.pageSize = 1;
  const { path } = await fetch(at("m/1"));
  expect(readdirSync(path).sort()).toEqual(["a.onnx", "deep er"]);
  expect(readFileSync(join(path, "deep er/ü+&<?.bin"), "utf8")).toBe("two");
  expect(az.requests.filter((request) => request.includes("comp=list"))).toHaveLength(2);
});

test("a connection string has account, key and endpoint", async () => {
  const { az, at, fetch } = await openContainer({ "m.onnx": "one" });
  setEnv({
    AZURE_STORAGE_ACCOUNT: "other",
    AZURE_STORAGE_BLOB_ENDPOINT: "",
    AZURE_STORAGE_CONNECTION_STRING: `AccountName=${TOY_ACCOUNT.name};AccountKey=${TOY_ACCOUNT.key};BlobEndpoint=${az.endpoint}/;`,
  });
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a shared access signature is sent, and stands in no message", async () => {
  const { az, at, fetch, events } = await openContainer({ "m/a.onnx": "one" });
  az.allows = "signature";
  setEnv({ AZURE_STORAGE_SAS_TOKEN: "?sv=2024&sig=toy%2Fsig" });
  expect(readdirSync((await fetch(at("m"))).path)).toEqual(["a.onnx"]);
  expect(JSON.stringify(events)).not.toMatch(/toy%2Fsig|toy\/sig/);
});

test.each([
  ["an application's secret", { AZURE_CLIENT_SECRET: "s3cret" }, /client_secret=s3cret/],
  ["a workload's token", { AZURE_FEDERATED_TOKEN_FILE: "token" }, /client_assertion=fed3rated&client_assertion_type=/],
])("%s is exchanged for a token", async (_, variables, expected) => {
  const { az, at, fetch, events } = await openContainer({ "m.onnx": "one" });
  az.allows = "token";
  const forms: string[] = [];
  const authority = await startWeb(async (request, response) => {
    for await (const chunk of request) forms.push(`${request.url} ${chunk}`);
    response.end('{"access_token":"t0ken","expires_in":3600}');
  });
  const file = join(tempFolder(), "token");
  writeFileSync(file, "fed3rated\n");
  const named = Object.entries(variables).map(([name, value]) => [name, name.endsWith("FILE") ? file : value]);
  setEnv({ AZURE_AUTHORITY_HOST: authority, AZURE_TENANT_ID: "t", AZURE_CLIENT_ID: "c", ...Object.fromEntries(named) });
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
  expect(forms).toEqual([expect.stringMatching(/^\/t\/oauth2\/v2.0\/token grant_type=client_credentials&client_id=c/)]);
  expect(forms[0]).toMatch(expected);
  expect(JSON.stringify(events)).not.toMatch(/s3cret|fed3rated|t0ken/);
});

test("a machine's identity is asked for a token", async () => {
  const { az, at, fetch } = await openContainer({ "m.onnx": "one" });
  az.allows = "token";
  const identity = await startWeb((request, response) => {
    const isRight =
      request.headers.metadata === "true" && request.url?.includes("resource=https%3A%2F%2Fstorage.azure.com");
    response.writeHead(isRight ? 200 : 400).end('{"access_token":"t0ken","expires_in":"3600"}');
  });
  setEnv({ AZURE_STORAGE_ANONYMOUS: "", AZURE_POD_IDENTITY_AUTHORITY_HOST: identity });
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a machine's identity that cannot be had is asked for again after seconds", async () => {
  const { az, at, fetch, storage } = await openContainer({ "m.onnx": "one" });
  az.allows = "token";
  let count = 0;
  const identity = await startWeb((_, response) =>
    response.writeHead(count++ === 0 ? 500 : 200).end('{"access_token":"t0ken","expires_in":"3600"}'),
  );
  setEnv({ AZURE_STORAGE_ANONYMOUS: "", AZURE_POD_IDENTITY_AUTHORITY_HOST: identity });
  await expect(fetch(at("m.onnx"))).rejects.toThrow(/the server answers 40/);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 15_000 });
  onTestFinished(() => void vi.useRealTimers());
  storage.expire();
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a file of a container of which only the files are public is read", async () => {
  const { az, at, fetch, storage } = await openContainer({ "m.onnx": "one" });
  az.allows = "files";
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
  await expect(storage.indexOf(at("folder"))).rejects.toThrow(
    /answers 404 \(ResourceNotFound.*\)\. Set AZURE_STORAGE_CONN/,
  );
});

test("an object that has changed since it was listed is listed again", async () => {
  const { az, at, fetch, storage } = await openContainer({ "m/a.bin": "old" });
  setEnv({ AZURE_STORAGE_KEY: TOY_ACCOUNT.key });
  await storage.indexOf(at("m"));
  az.objects.set("m/a.bin", "new");
  await expect(fetch(at("m"))).rejects.toThrow(
    /answers 412 \(ConditionNotMet: The toy says ConditionNotMet\.\).*next attempt/,
  );
  expect(readFileSync(join((await fetch(at("m"))).path, "a.bin"), "utf8")).toBe("new");
});

test("a wrong key is an error without it", async () => {
  const { at, fetch } = await openContainer({ "m.onnx": "one" });
  const key = Buffer.from("wrong").toString("base64");
  setEnv({ AZURE_STORAGE_KEY: key });
  const error = fetch(at("m.onnx"));
  await expect(error).rejects.toThrow(
    /answers 403 \(AuthenticationFailed: .*\)\. Set AZURE_STORAGE_CONNECTION_STRING, AZURE/,
  );
  await expect(error).rejects.not.toThrow(key);
});

test.each([
  ["az://toy-az-other/m", /the server answers 404 \(ContainerNotFound: .*\)\. Check the address\.$/],
  ["az://UPPER/m", /az:\/\/UPPER\/m has no container's name; expected az:\/\/CONTAINER\/PATH, as:\/\/ACCOUNT/],
])("%s is an error that says what to do", async (address, message) => {
  const { storage } = await openContainer({});
  setEnv({ AZURE_STORAGE_KEY: TOY_ACCOUNT.key });
  await expect((async () => storage.indexOf(address))()).rejects.toThrow(message);
});

test("az:// without an account is an error that names the ways to give one", async () => {
  setEnv({ AZURE_STORAGE_ACCOUNT: "", AZURE_STORAGE_CONNECTION_STRING: "", AZURE_STORAGE_BLOB_ENDPOINT: "" });
  await expect((async () => openStorage().fetch("az://models/m"))()).rejects.toThrow(
    /az:\/\/ is read from the account of AZURE_STORAGE_CONNECTION_STRING or AZURE_STORAGE_ACCOUNT, and neither is set/,
  );
});
