import { createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { jwtVerify } from "jose";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { openStorage } from "../open-storage.ts";
import { setEnv } from "../set-env.ts";
import { startWeb } from "../start-web.ts";
import { ToyGs } from "./start-gs.ts";

let buckets = 0;

async function openBucket(objects: Readonly<Record<string, string | Buffer>>) {
  const bucket = `toy-gs-${buckets++}`;
  const gs = await ToyGs.start(bucket, objects);
  return { gs, at: (key: string) => `gs://${bucket}/${key}`, ...openStorage() };
}

test("a public bucket's folder is downloaded with its names, in a list of several parts", async () => {
  const { gs, at, fetch } = await openBucket({
    "m/1/a.onnx": "one",
    "m/1/deep er/ü+&?.bin": "two",
    "m/1/": "",
    "m10/x": "",
  });
  gs.pageSize = 2;
  const { path } = await fetch(at("m/1"));
  expect(readdirSync(path).sort()).toEqual(["a.onnx", "deep er"]);
  expect(readFileSync(join(path, "deep er/ü+&?.bin"), "utf8")).toBe("two");
  expect(gs.requests.filter((request) => request.includes("/o?"))).toHaveLength(2);
});

test("an emulator is asked without credentials, whatever there are", async () => {
  const { at, fetch } = await openBucket({ "m.onnx": "one" });
  const { CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: url = "" } = process.env;
  setEnv({ STORAGE_EMULATOR_HOST: new URL(url).host, GOOGLE_APPLICATION_CREDENTIALS: "none.json" });
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a cut download goes on where it was cut, of the same generation", async () => {
  const content = randomBytes(300_000);
  const { gs, at, fetch } = await openBucket({ "m.bin": content });
  gs.fault = (_, response) => {
    gs.fault = undefined;
    response.writeHead(200, { "content-length": content.length });
    response.write(content.subarray(0, 100_000), () => response.destroy());
    return true;
  };
  expect(readFileSync((await fetch(at("m.bin"))).path).equals(content)).toBe(true);
  expect(gs.requests.at(-1)).toMatch(/m\.bin\?alt=media&ifGenerationMatch=1 bytes=[1-9]\d*-$/);
});

test.each([
  ["MD5", false, /differs from its checksum \(md5\)/],
  ["CRC-32C", true, /differs from its checksum \(crc32c\)/],
])("an object with another content than its %s is not used", async (_, isComposed, message) => {
  const { gs, at, fetch } = await openBucket({ "m.bin": "good" });
  gs.isComposed = isComposed;
  gs.fault = (_, response) => {
    response.end("evil");
    return true;
  };
  await expect(fetch(at("m.bin"))).rejects.toThrow(message);
  gs.fault = undefined;
  expect(readFileSync((await fetch(at("m.bin"))).path, "utf8")).toBe("good");
});

test("an object that has changed since it was listed is listed again", async () => {
  const { gs, at, fetch, storage } = await openBucket({ "m/a.bin": "old" });
  await storage.indexOf(at("m"));
  gs.put("m/a.bin", "new");
  await expect(fetch(at("m"))).rejects.toThrow(/answers 412 .*has changed meanwhile; the next attempt reads it/);
  expect(readFileSync(join((await fetch(at("m"))).path, "a.bin"), "utf8")).toBe("new");
});

test("a file of a bucket that may not be listed is read", async () => {
  const { gs, at, fetch } = await openBucket({ "m.onnx": "one" });
  gs.isUnlisted = true;
  expect(readFileSync((await fetch(at("m.onnx"))).path, "utf8")).toBe("one");
});

test("a bucket that is not for everybody is an error that says what to do", async () => {
  const { gs, at, fetch } = await openBucket({ "m.onnx": "one" });
  gs.token = "other";
  await expect(fetch(at("m.onnx"))).rejects.toThrow(
    /cannot be read: the server answers 403 \(The toy does not have .*\)\. Set GOOGLE_APPLICATION_CREDENTIALS to the key file/,
  );
});

test.each([
  ["gs://toy-gs-other/m", /the server answers 404 \(The specified bucket does not exist\.\)\. Check the address\.$/],
  ["gs:///m", /gs:\/\/\/m has no bucket's name; expected gs:\/\/BUCKET\/PATH/],
])("%s is an error that says what to do", async (address, message) => {
  const { storage } = await openBucket({});
  await expect((async () => storage.indexOf(address))()).rejects.toThrow(message);
});

test("an empty bucket has nothing", async () => {
  const { storage, at } = await openBucket({});
  await expect(storage.indexOf(at("m"))).rejects.toThrow(/m cannot be read: nothing is there; expected a model's file/);
});

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
/** A bucket for those with the token `t0ken`. */
async function openGuardedBucket() {
  const bucket = `toy-gs-token-${buckets++}`;
  const gs = await ToyGs.start(bucket, { "m.onnx": "model" });
  gs.token = "t0ken";
  const { fetch, events, storage } = openStorage();
  const read = async () => readFileSync((await fetch(`gs://${bucket}/m.onnx`)).path, "utf8");
  return { gs, read, events, storage };
}

/** Starts what gives tokens; `check` looks at a request's form. */
async function startTokens(
  check: (form: URLSearchParams, request: IncomingMessage) => Promise<boolean> | boolean,
  seconds = 3600,
) {
  const origin = await startWeb(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (await check(new URLSearchParams(body), request))
      return response.end(JSON.stringify({ access_token: "t0ken", expires_in: seconds, token_type: "Bearer" }));
    return response.writeHead(400).end('{"error":"invalid_grant","error_description":"Not a valid email or user ID."}');
  });
  return new URL("/token", origin);
}

function useKey(content: unknown): string {
  const path = join(tempFolder(), "key.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  setEnv({ GOOGLE_APPLICATION_CREDENTIALS: path });
  return path;
}

const ACCOUNT = { type: "service_account", private_key_id: "k1", private_key: PEM, client_email: "a@toy.iam" };

test("a key file's account signs what is exchanged for a token", async () => {
  const { read, events } = await openGuardedBucket();
  const uri = await startTokens(async (form) => {
    const options = { issuer: "a@toy.iam", audience: uri.href };
    const { payload, protectedHeader } = await jwtVerify(form.get("assertion") ?? "", createPublicKey(PEM), options);
    expect(protectedHeader).toEqual({ alg: "RS256", kid: "k1" });
    expect(payload.scope).toBe("https://www.googleapis.com/auth/devstorage.read_only");
    return form.get("grant_type") === "urn:ietf:params:oauth:grant-type:jwt-bearer";
  });
  useKey({ ...ACCOUNT, token_uri: uri });
  expect(await read()).toBe("model");
  expect(JSON.stringify(events)).not.toMatch(/t0ken|PRIVATE/);
});

test("a login of gcloud is refreshed", async () => {
  const { read } = await openGuardedBucket();
  const uri = await startTokens(
    (form) => String(form) === "grant_type=refresh_token&client_id=c&client_secret=s&refresh_token=r",
  );
  const folder = join(tempFolder(), "gcloud");
  mkdirSync(folder);
  const login = { type: "authorized_user", client_id: "c", client_secret: "s", refresh_token: "r", token_uri: uri };
  writeFileSync(join(folder, "application_default_credentials.json"), JSON.stringify(login));
  setEnv({ CLOUDSDK_CONFIG: folder });
  expect(await read()).toBe("model");
});

test("a machine's own account is asked for, again when its token is about to end", async () => {
  const { read } = await openGuardedBucket();
  let count = 0;
  const { host } = await startTokens((_, { headers, url }) => {
    count++;
    expect(url).toBe("/computeMetadata/v1/instance/service-accounts/default/token");
    return headers["metadata-flavor"] === "Google";
  }, 60);
  setEnv({ NO_GCE_CHECK: "", GCE_METADATA_HOST: host });
  expect(await read()).toBe("model");
  expect(count).toBeGreaterThan(1);
});

/** Moves the clock on, and has what is listed listed again. */
function later(storage: { expire(): void }, seconds: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 1000 * seconds });
  onTestFinished(() => void vi.useRealTimers());
  storage.expire();
}

test.each([
  ["fails", (response: ServerResponse) => response.writeHead(503).end("not yet")],
  ["is late", () => {}],
  ["breaks off", (response: ServerResponse) => response.destroy()],
])("a machine's service that %s is asked again after seconds", async (_, fail) => {
  const { read, storage } = await openGuardedBucket();
  let count = 0;
  const origin = await startWeb((_, response) => {
    if (count++ === 0) fail(response);
    else response.end('{"access_token":"t0ken","expires_in":3600}');
  });
  setEnv({ NO_GCE_CHECK: "", GCE_METADATA_HOST: new URL(origin).host });
  await expect(read()).rejects.toThrow(/answers 403/);
  later(storage, 15);
  expect(await read()).toBe("model");
});

test("a machine without an account is not asked again for minutes", async () => {
  const { gs, read, storage } = await openGuardedBucket();
  gs.token = undefined;
  let count = 0;
  const origin = await startWeb((_, response) => {
    count++;
    response.writeHead(404).end();
  });
  setEnv({ NO_GCE_CHECK: "", GCE_METADATA_HOST: new URL(origin).host });
  expect(await read()).toBe("model");
  later(storage, 12 * 60);
  expect(await read()).toBe("model");
  expect(count).toBe(1);
});

test.each([
  [
    "no file",
    undefined,
    /the file of GOOGLE_APPLICATION_CREDENTIALS cannot be read: ENOENT: no such file or directory\.$/,
  ],
  ["no JSON", "s3cret", /the file of GOOGLE_APPLICATION_CREDENTIALS cannot be read: it is not JSON\.$/],
  [
    "another type",
    { type: "external_account", private_key: "s3cret" },
    /is of the type "external_account", which is not supported; expected a service/,
  ],
  [
    "no key",
    { ...ACCOUNT, private_key: "s3cret" },
    /the private_key of the file of GOOGLE_APPLICATION_CREDENTIALS cannot be used\.$/,
  ],
])("a key file with %s is an error that says so, without its content and path", async (_, content, message) => {
  const { read, events } = await openGuardedBucket();
  if (content === undefined) setEnv({ GOOGLE_APPLICATION_CREDENTIALS: join(tempFolder(), "s3cret.json") });
  else useKey(content);
  const error = read();
  await expect(error).rejects.toThrow(message);
  await expect(error).rejects.not.toThrow(/s3cret|key\.json/);
  expect(JSON.stringify(events)).not.toMatch(/s3cret/);
});

test("a refused key is an error with the reason, and without what was sent", async () => {
  const { read } = await openGuardedBucket();
  useKey({ ...ACCOUNT, token_uri: await startTokens(() => false) });
  const error = read();
  await expect(error).rejects.toThrow(
    /the server answers 400 \(Not a valid email or user ID\.\)\. Check the address and the settings/,
  );
  await expect(error).rejects.not.toThrow(/assertion|eyJ/);
});
