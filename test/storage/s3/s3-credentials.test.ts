import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { openStorage } from "../open-storage.ts";
import { setEnv, useS3 } from "../set-env.ts";
import { startS3, TOY_KEY } from "../start-s3.ts";
import { startWeb } from "../start-web.ts";

let buckets = 0;

/** A bucket for those with the toy's key and the token of a session, and no key in the environment. */
async function openBucket() {
  const bucket = `toy-s3-access-${buckets++}`;
  const s3 = await startS3(bucket, { "m.onnx": "model" });
  useS3(s3.endpoint);
  setEnv({ AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" });
  s3.fault = ({ headers }, response) => {
    if (headers["x-amz-security-token"] === "s3ssion") return false;
    response.writeHead(403).end("<Error><Code>InvalidToken</Code></Error>");
    return true;
  };
  const { fetch, events, storage } = openStorage();
  const read = async () => readFileSync((await fetch(`s3://${bucket}/m.onnx`)).path, "utf8");
  return { s3, read, events, storage };
}

const LATER = new Date(Date.now() + 3_600_000).toISOString();
const ROLE = { AccessKeyId: TOY_KEY.id, SecretAccessKey: TOY_KEY.secret, Token: "s3ssion", Expiration: LATER };
const SECRETS = /s3ssion|toy\/secret|id3ntity/;

/** A service of Amazon's on this machine. */
function startService(answer: (request: IncomingMessage, body: URLSearchParams) => string | undefined) {
  return startWeb(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const text = answer(request, new URLSearchParams(body));
    response.writeHead(text === undefined ? 404 : 200).end(text);
  });
}

test("a key of the environment with a session's token is sent", async () => {
  const { read, events } = await openBucket();
  setEnv({ AWS_ACCESS_KEY_ID: TOY_KEY.id, AWS_SECRET_ACCESS_KEY: TOY_KEY.secret, AWS_SESSION_TOKEN: "s3ssion" });
  expect(await read()).toBe("model");
  expect(JSON.stringify(events)).not.toMatch(SECRETS);
});

test("a profile has the key, the region and the endpoint", async () => {
  const { s3, read } = await openBucket();
  const folder = tempFolder({
    config: `[default]\nregion = us-west-1\n\n[profile work]\nregion = eu-west-3\nendpoint_url = ${s3.endpoint}\n`,
    credentials: `# keys\n[work]\naws_access_key_id = ${TOY_KEY.id}\naws_secret_access_key=${TOY_KEY.secret}\naws_session_token = s3ssion\n`,
  });
  const files = { AWS_CONFIG_FILE: join(folder, "config"), AWS_SHARED_CREDENTIALS_FILE: join(folder, "credentials") };
  setEnv({ ...files, AWS_PROFILE: "work", AWS_ENDPOINT_URL_S3: "" });
  const scopes: unknown[] = [];
  const { fault } = s3;
  s3.fault = (request, response) => {
    scopes.push(/\/([\w-]+)\/s3\//.exec(request.headers.authorization ?? "")?.[1]);
    return fault?.(request, response) === true;
  };
  expect(await read()).toBe("model");
  expect(new Set(scopes)).toEqual(new Set(["eu-west-3"]));
});

test("the token of a web identity is exchanged for a key", async () => {
  const { read, events } = await openBucket();
  const forms: unknown[] = [];
  const sts = await startService((_, form) => {
    forms.push(Object.fromEntries(form));
    const members = { ...ROLE, SessionToken: ROLE.Token };
    return Object.entries(members)
      .map(([name, text]) => `<${name}>${text}</${name}>`)
      .join("");
  });
  const file = join(tempFolder({ token: "id3ntity\n" }), "token");
  setEnv({ AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: "arn:aws:iam::1:role/r", AWS_ENDPOINT_URL_STS: sts });
  expect(await read()).toBe("model");
  expect(forms).toEqual([
    {
      ...{ Action: "AssumeRoleWithWebIdentity", Version: "2011-06-15", RoleArn: "arn:aws:iam::1:role/r" },
      ...{ RoleSessionName: "kserving", WebIdentityToken: "id3ntity" },
    },
  ]);
  expect(JSON.stringify(events)).not.toMatch(SECRETS);
});

test("a container's role is asked for with its token", async () => {
  const { read } = await openBucket();
  const service = await startService(({ url, headers }) =>
    url === "/role" && headers.authorization === "c0ntainer" ? JSON.stringify(ROLE) : undefined,
  );
  setEnv({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service}/role`, AWS_CONTAINER_AUTHORIZATION_TOKEN: "c0ntainer" });
  expect(await read()).toBe("model");
});

test("a machine's role is asked for with a token of its service", async () => {
  const { read } = await openBucket();
  const service = await startService(({ method, url, headers }) => {
    if (method === "PUT" && url === "/latest/api/token") return "imds";
    if (headers["x-aws-ec2-metadata-token"] !== "imds") return undefined;
    return url?.endsWith("/security-credentials/") ? "role-1\n" : JSON.stringify(ROLE);
  });
  setEnv({ AWS_EC2_METADATA_DISABLED: "", AWS_EC2_METADATA_SERVICE_ENDPOINT: service });
  expect(await read()).toBe("model");
});

test("a machine's role that cannot be had is asked for again after seconds", async () => {
  const { read, storage } = await openBucket();
  let isUp = false;
  const service = await startService(({ url }) => {
    if (!isUp) return "starting";
    return url?.endsWith("/security-credentials/") ? "role-1\n" : JSON.stringify(ROLE);
  });
  setEnv({ AWS_EC2_METADATA_DISABLED: "", AWS_EC2_METADATA_SERVICE_ENDPOINT: service });
  await expect(read()).rejects.toThrow(/answers 403/);
  isUp = true;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 15_000 });
  onTestFinished(() => void vi.useRealTimers());
  storage.expire();
  expect(await read()).toBe("model");
});

test("a bucket of another region is asked there", async () => {
  const { s3, read } = await openBucket();
  setEnv({ AWS_ACCESS_KEY_ID: TOY_KEY.id, AWS_SECRET_ACCESS_KEY: TOY_KEY.secret });
  s3.fault = ({ headers }, response) => {
    if (headers.authorization?.includes("/eu-west-3/s3/")) return false;
    response.writeHead(301, { "x-amz-bucket-region": "eu-west-3" }).end();
    return true;
  };
  expect(await read()).toBe("model");
});

test.each([
  ["a profile that is in no file", { AWS_PROFILE: "nobody" }, /AWS_PROFILE is "nobody", which is neither in the/],
  ["a web identity without a role", { AWS_WEB_IDENTITY_TOKEN_FILE: "none" }, /is set without AWS_ROLE_ARN; expected/],
  [
    "a token's file that is not there",
    { AWS_WEB_IDENTITY_TOKEN_FILE: "/s3cret/none", AWS_ROLE_ARN: "arn" },
    /the file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read: ENOENT: no such file or directory/,
  ],
  [
    "a container's role elsewhere",
    { AWS_CONTAINER_CREDENTIALS_FULL_URI: "http://8.8.8.8/role" },
    /is neither https:\/\/ nor an address of this machine/,
  ],
])("%s is an error that says so", async (_, variables, message) => {
  const { read } = await openBucket();
  setEnv(variables);
  const error = read();
  await expect(error).rejects.toThrow(message);
  await expect(error).rejects.not.toThrow(/s3cret/);
});

test.each(["sso_session", "credential_process", "source_profile"])("a profile with %s is refused", async (name) => {
  const { read } = await openBucket();
  const config = join(tempFolder({ config: `[profile work]\n${name} = corp\n` }), "config");
  setEnv({ AWS_PROFILE: "work", AWS_CONFIG_FILE: config });
  await expect(read()).rejects.toThrow(
    `the profile of AWS_PROFILE has ${name}, which is not supported. Pass keys: eval`,
  );
});
