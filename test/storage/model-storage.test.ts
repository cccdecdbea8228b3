import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openStorage } from "./open-storage.ts";
import { makeTarball } from "./runtimes/make-tarball.ts";
import { setEnv, useS3 } from "./set-env.ts";
import { startS3, type ToyS3 } from "./start-s3.ts";
import { startWeb } from "./start-web.ts";

let buckets = 0;

async function openBucket(objects: Readonly<Record<string, Uint8Array | string>>) {
  const bucket = `toy-bucket-${buckets++}`;
  const s3 = await startS3(bucket, objects);
  useS3(s3.endpoint);
  return { s3, at: (key: string) => `s3://${bucket}/${key}`, ...openStorage() };
}

const readIn = (folder: string, name: string) => readFileSync(join(folder, name), "utf8");

test("a folder is downloaded with its names, and once", async () => {
  const { s3, at, fetch } = await openBucket({
    "m/1/a.onnx": "one",
    "m/1/deep er/ü+&.bin": "two",
    "m/1/": "",
    "m10/x": "",
  });
  const { path } = await fetch(at("m/1"));
  expect(readIn(path, "a.onnx")).toBe("one");
  expect(readIn(path, "deep er/ü+&.bin")).toBe("two");
  const count = s3.requests.length;
  expect((await fetch(at("m/1"))).path).toBe(path);
  expect(s3.requests.length).toBe(count);
});

test("a file comes with those whose names begin alike", async () => {
  const { at, fetch } = await openBucket({
    "m/face.xml": "x",
    "m/face.bin": "b",
    "m/face-2.xml": "",
    "m/face.d/c": "",
  });
  const { path } = await fetch(at("m/face.xml"));
  expect(readFileSync(path, "utf8")).toBe("x");
  expect(readdirSync(join(path, "..")).sort()).toEqual(["face.bin", "face.xml"]);
});

test.each([
  ["another that is called as an unfinished one may be", { "a.onnx": "a".repeat(300_000), "a.onnx.part": "b" }],
  ["a name as long as can be", { [`${"x".repeat(250)}.onnx`]: "c" }],
])("a folder with %s is downloaded as it is", async (_, files) => {
  const { at, fetch } = await openBucket(Object.fromEntries(Object.entries(files).map(([k, v]) => [`m/${k}`, v])));
  const { path } = await fetch(at("m"));
  expect(Object.fromEntries(readdirSync(path).map((name) => [name, readIn(path, name)]))).toEqual(files);
});

test("an index has the names and not the content", async () => {
  const { at, storage, s3 } = await openBucket({ "m/1/a.onnx": "one", "m/2/a.onnx": "two" });
  const index = await storage.indexOf(at("m"));
  expect(readdirSync(index)).toEqual(["1", "2"]);
  expect(readIn(index, "2/a.onnx")).toBe("");
  expect(s3.requests).toHaveLength(1);
});

test("a description that comes with more bytes than listed is not written on", async () => {
  const { at, s3 } = await openBucket({ "m/config.pbtxt": "tiny", "m/1/a.onnx": "" });
  const { storage } = openStorage({ describes: (name) => name === "config.pbtxt" });
  s3.fault = ({ url = "" }, response) => {
    if (url.includes("config.pbtxt")) response.end("much more");
    return url.includes("config.pbtxt");
  };
  await expect(storage.indexOf(at("m"))).rejects.toThrow(
    /\/m cannot be read: the server's answer is not complete: it has more than 4 bytes/,
  );
});

test("a list comes in parts", async () => {
  const names = Array.from({ length: 25 }, (_, index) => `m/${String(index).padStart(2, "0")}.bin`);
  const { at, storage, s3 } = await openBucket(Object.fromEntries(names.map((name) => [name, name])));
  s3.pageSize = 10;
  expect(readdirSync(await storage.indexOf(at("m")))).toHaveLength(25);
  expect(s3.requests).toHaveLength(3);
});

describe("a download", () => {
  const content = randomBytes(300_000);

  /** Fails every second answer with a file by `break`. */
  function breakEverySecond(s3: ToyS3, break_: (response: Parameters<NonNullable<ToyS3["fault"]>>[1]) => void): void {
    let count = 0;
    s3.fault = (request, response) => {
      if (request.url?.includes("list-type") || count++ % 2 === 1) return false;
      break_(response);
      return true;
    };
  }

  test("goes on where the connection was cut", async () => {
    const { s3, at, fetch } = await openBucket({ "m.bin": content });
    let ranges = 0;
    s3.fault = (request, response) => {
      if (request.url?.includes("list-type")) return false;
      if (request.headers.range !== undefined) ranges++;
      if (request.headers.range !== undefined && ranges > 1) return false;
      const start = Number(/=(\d+)/.exec(request.headers.range ?? "")?.[1] ?? 0);
      const head = { etag: request.headers["if-match"], "content-length": content.length - start };
      const range = { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` };
      response.writeHead(start > 0 ? 206 : 200, { ...head, ...(start > 0 && range) });
      response.write(content.subarray(start, start + 100_000), () => response.destroy());
      return true;
    };
    const { path } = await fetch(at("m.bin"));
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(ranges).toBe(2);
  });

  test("is tried again after an error of the server", async () => {
    const { s3, at, fetch } = await openBucket({ "m.bin": content });
    breakEverySecond(s3, (response) => response.writeHead(503).end());
    expect(readFileSync((await fetch(at("m.bin"))).path).equals(content)).toBe(true);
  });

  test("that is shorter or longer than listed is not used", async () => {
    for (const bytes of [content.length - 1, content.length + 1]) {
      const { s3, at, fetch, folder } = await openBucket({ "m.bin": content });
      breakEverySecond(s3, (response) => response.writeHead(200, { "content-length": bytes }).end(Buffer.alloc(bytes)));
      expect(readFileSync((await fetch(at("m.bin"))).path).equals(content)).toBe(true);
      expect(readdirSync(join(folder, ".partial"))).toEqual([]);
    }
  });

  test("of other bytes than the checksum's fails, leaves nothing, and succeeds the next time", async () => {
    const { s3, at, fetch, folder } = await openBucket({ "m.bin": content });
    let count = 0;
    s3.fault = (request, response) => {
      if (request.url?.includes("list-type") || count++ > 1) return false;
      response.writeHead(200).end(Buffer.alloc(content.length));
      return true;
    };
    await expect(fetch(at("m.bin"))).rejects.toThrow(/m\.bin differs from its checksum \(md5\)/);
    expect(readdirSync(folder)).toEqual([".partial"]);
    expect(readFileSync((await fetch(at("m.bin"))).path).equals(content)).toBe(true);
  });

  test("of an object that has changed since it was listed fails, and takes the new one the next time", async () => {
    const { s3, at, fetch } = await openBucket({ "m.bin": content });
    s3.fault = (request) => {
      if (request.headers["if-match"] !== undefined) s3.objects.set("m.bin", "new");
      return false;
    };
    await expect(fetch(at("m.bin"))).rejects.toThrow(/has changed meanwhile; the next attempt reads it as it is now/);
    expect(readFileSync((await fetch(at("m.bin"))).path, "utf8")).toBe("new");
  });

  test("that was broken off by a closed storage goes on in the next one", async () => {
    const { s3, at, fetch, storage, folder } = await openBucket({ "m.bin": content });
    let isCut = true;
    const offsets: number[] = [];
    s3.fault = (request, response) => {
      if (request.url?.includes("list-type")) return false;
      offsets.push(Number(/=(\d+)/.exec(request.headers.range ?? "")?.[1] ?? 0));
      if (!isCut) return false;
      isCut = false;
      response.writeHead(200, { "content-length": content.length });
      response.write(content.subarray(0, 100_000), () => setTimeout(() => storage.close(), 20));
      return true;
    };
    await expect(fetch(at("m.bin"))).rejects.toThrow(/closing/);
    const { path } = await openStorage({ folder }).fetch(at("m.bin"));
    expect(readFileSync(path).equals(content)).toBe(true);
    expect(offsets[1]).toBeGreaterThan(0);
  });
});

describe("an address that cannot be read is an error that says what to do", () => {
  test.each([
    [
      "nothing there",
      (at: string) => `${at}/none`,
      /toy-bucket-\d+\/none cannot be read: nothing is there; expected a model's file/,
    ],
    [
      "no such bucket",
      () => "s3://other-bucket-1/m",
      /other-bucket-1\/m cannot be read: the server answers 404 \(NoSuchBucket: .*\)\. Check the address\.$/,
    ],
    ["no bucket's name", () => "s3://", /s3:\/\/ has no bucket's name; expected s3:\/\/BUCKET\/PATH\./],
    ["a name that leaves the folder", (at: string) => `${at}/bad`, /the name "\.\.\/\.\.\/x" cannot be a file's/],
  ])("%s", async (_, toAddress, message) => {
    const { at, storage } = await openBucket({ "m/a.onnx": "", "bad/../../x": "" });
    await expect(storage.indexOf(toAddress(at("").slice(0, -1)))).rejects.toThrow(message);
  });

  test("another key", async () => {
    const { at, fetch } = await openBucket({ "m/a.onnx": "" });
    setEnv({ AWS_SECRET_ACCESS_KEY: "wrong" });
    const error = fetch(at("m"));
    await expect(error).rejects.toThrow(/answers 403 \(SignatureDoesNotMatch.*\)\. Check AWS_ACCESS_KEY_ID/);
    await expect(error).rejects.not.toThrow(/wrong|TOYKEY/);
  });

  test("a server that is not there", async () => {
    const { at, fetch } = await openBucket({});
    setEnv({ AWS_ENDPOINT_URL_S3: "http://127.0.0.1:1" });
    await expect(fetch(at("m"))).rejects.toThrow(/127\.0\.0\.1:1 cannot be reached: ECONNREFUSED/);
  });

  test("a list without an end", async () => {
    const { at, storage, s3 } = await openBucket({});
    s3.fault = (_, response) => {
      const next = "<NextContinuationToken>again</NextContinuationToken>";
      response.end(`<ListBucketResult><IsTruncated>true</IsTruncated>${next}</ListBucketResult>`);
      return true;
    };
    await expect(storage.indexOf(at("m"))).rejects.toThrow(/the server's list does not come to its end/);
    expect(s3.requests).toHaveLength(2);
  });

  test("an answer that is not a list", async () => {
    const { at, storage, s3 } = await openBucket({});
    s3.fault = (_, response) => {
      response.end("<html><body>Please log in to the network</body></html>");
      return true;
    };
    await expect(storage.indexOf(at("m"))).rejects.toThrow(
      /the server's answer is not a list of S3\. Check the endpoint/,
    );
  });
});

test.each(["null", "{}", "[null]", '[{"type":"file","path":7}]'])(
  "a list of the hub of the form %s is an error that says so",
  async (list) => {
    const hub = await startWeb(({ url = "" }, response) =>
      response.end(url.includes("/revision/") ? JSON.stringify({ sha: "1".repeat(40) }) : list),
    );
    setEnv({ HF_ENDPOINT: hub, HF_TOKEN: "", HF_TOKEN_PATH: "none" });
    await expect(openStorage().fetch("hf://owner/name")).rejects.toMatchObject({
      code: "unavailable",
      message: "hf://owner/name cannot be read: the server's answer is not a list of files. Check the address.",
    });
  },
);

test("of a hundred thousand objects in a bucket those of a model are read, and too many refused after few requests", async () => {
  const names = Array.from({ length: 100_000 }, (_, index) => `many/${String(index).padStart(6, "0")}.jpg`);
  const { at, fetch, s3 } = await openBucket({
    "m/a.onnx": "one",
    ...Object.fromEntries(names.map((name) => [name, ""])),
  });
  expect(readdirSync((await fetch(at("m"))).path)).toEqual(["a.onnx"]);
  expect(s3.requests).toHaveLength(2);
  await expect(fetch(at("many"))).rejects.toThrow(/there are more than 10000 files/);
  expect(s3.requests).toHaveLength(2 + 11);
});

test("a part of a list that has more files than any model is refused as such", async () => {
  const { at, storage, s3 } = await openBucket({});
  s3.fault = (_, response) => {
    const file = "<Contents><Key>m/a</Key></Contents>";
    response.end(`<ListBucketResult>${file.repeat(400_000)}</ListBucketResult>`);
    return true;
  };
  await expect(storage.indexOf(at("m"))).rejects.toThrow(/there are more than 10000 files/);
});

describe("an object whose name is that of a folder", () => {
  test("is passed over where it is empty, as programs mark folders", async () => {
    const { at, storage, fetch } = await openBucket({ "m/1": "", "m/1/a.onnx": "one" });
    expect(readdirSync(await storage.indexOf(at("m")))).toEqual(["1"]);
    expect(readIn((await fetch(at("m"))).path, "1/a.onnx")).toBe("one");
  });

  test("is refused with content, by its name", async () => {
    const { at, storage, fetch } = await openBucket({ "m/1": "text", "m/1/a.onnx": "one" });
    const message = /"m\/1" is a file and a folder at once; rename one/;
    await expect(storage.indexOf(at("m"))).rejects.toThrow(message);
    await expect(fetch(at("m"))).rejects.toThrow(message);
  });
});

test("descriptions that together are larger than any repository's are not written on", async () => {
  const names = Array.from({ length: 70 }, (_, index) => [`m/${index}/config.pbtxt`, Buffer.alloc(2 ** 20)]);
  const { at } = await openBucket(Object.fromEntries(names));
  const { storage } = openStorage({ describes: () => true });
  await expect(storage.indexOf(at("m"))).rejects.toThrow(/its descriptions of models have more than 64 MB/);
});

test("of an archive that is refused nothing stays but itself", async () => {
  const archive = makeTarball([
    { name: "a", text: "0".repeat(1e6) },
    { name: "../b", text: "" },
  ]);
  const { at, fetch, folder } = await openBucket({ "m.tar.gz": archive });
  await expect(fetch(at("m.tar.gz"))).rejects.toThrow(/"\.\.\/b" cannot be a file's/);
  const left = readdirSync(folder, { recursive: true }) as string[];
  expect(left.filter((name) => name.endsWith("m.tar.gz"))).toHaveLength(1);
  expect(left.filter((name) => /content/.test(name))).toEqual([]);
});

test("files whose sizes no list tells have room together", async () => {
  const { at, s3 } = await openBucket({});
  s3.fault = ({ url = "" }, response) => {
    const files = Array.from({ length: 20 }, (_, index) => `<Contents><Key>m/${index}</Key></Contents>`);
    if (url.includes("list-type")) response.end(`<ListBucketResult>${files.join("")}</ListBucketResult>`);
    else response.writeHead(200, { "transfer-encoding": "chunked" }).end(Buffer.alloc(100_000));
    return true;
  };
  const { fetch } = openStorage({ maxBytes: 1_000_000 });
  await expect(fetch(at("m"))).rejects.toThrow(/Raise --model-cache-size/);
});

test("an empty bucket has nothing, and a folder that loses its files is one", async () => {
  const { at, storage, s3 } = await openBucket({ "m/a.onnx": "one" });
  await storage.indexOf(at("m"));
  s3.objects.clear();
  storage.expire();
  await expect(storage.indexOf(at("m"))).rejects.toMatchObject({ code: "not_found" });
});

test("an index that nothing has looked at for an hour is removed, and made again", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const { at, storage } = await openBucket({ "old/1/a.onnx": "", "used/1/a.onnx": "", "new/1/a.onnx": "" });
  const [old, used] = [await storage.indexOf(at("old")), await storage.indexOf(at("used"))];
  vi.advanceTimersByTime(40 * 60_000);
  expect(await storage.indexOf(at("used"))).toBe(used);
  vi.advanceTimersByTime(40 * 60_000);
  await storage.indexOf(at("new"));
  expect([old, used].filter(existsSync)).toEqual([used]);
  expect(readdirSync(await storage.indexOf(at("old")))).toEqual(["1"]);
});

test("after a reload all calls wait for the same new list, and an index stays while it is looked at", async () => {
  const { at, storage, s3 } = await openBucket({ "m/1/a.onnx": "" });
  const [index] = await Promise.all([storage.indexOf(at("m")), storage.indexOf(at("m"))]);
  const before = await storage.stampOf(at("m"));
  s3.objects.set("m/2/a.onnx", "");
  storage.expire();
  const [first, second] = await Promise.all([storage.indexOf(at("m")), storage.stampOf(at("m"))]);
  expect(second).not.toEqual(before);
  expect(readdirSync(first)).toEqual(["1", "2"]);
  expect(readdirSync(index)).toEqual(["1"]);
  storage.close();
  expect([index, first].filter(existsSync)).toEqual([]);
});

test("a list that changes with each look is used when it has stayed the same", async () => {
  const { at, s3 } = await openBucket({ "m/1/a.onnx": "" });
  const { storage } = openStorage({ pollMs: 1 });
  const before = await storage.stampOf(at("m"));
  let uploads = 0;
  s3.fault = () => {
    s3.objects.set(`m/2/${uploads++}.bin`, "");
    return false;
  };
  await expect.poll(async () => [await storage.stampOf(at("m")), uploads > 5], { interval: 2 }).toEqual([before, true]);
  s3.fault = undefined;
  await expect.poll(() => storage.stampOf(at("m")), { interval: 2 }).not.toEqual(before);
  expect(readdirSync(join(await storage.indexOf(at("m")), "2"))).toHaveLength(uploads);
});

test("a slow server is waited for while bytes come", async () => {
  const { at, fetch, s3 } = await openBucket({ "m.bin": "slow" });
  s3.fault = (request, response) => {
    if (request.url?.includes("list-type")) return false;
    response.writeHead(200, { "content-length": 4 }).flushHeaders();
    const letters = [..."slow"];
    const send = () => {
      const letter = letters.shift();
      if (letter === undefined) response.end();
      else response.write(letter, () => setTimeout(send, 5));
    };
    send();
    return true;
  };
  expect(readFileSync((await fetch(at("m.bin"))).path, "utf8")).toBe("slow");
});

describe("of a server that sends a byte now and then", () => {
  /** Answers what the path of a request has in it by a byte every few milliseconds, and tells when some have come. */
  async function openDripping(part: string) {
    const bucket = await openBucket({ "m/config.pbtxt": "x".repeat(10_000), "m/1/a.onnx": "" });
    const { storage } = openStorage({ describes: (name) => name === "config.pbtxt" });
    const dripping = new Promise<void>((resolve) => {
      bucket.s3.fault = ({ url = "" }, response) => {
        if (!url.includes(part)) return false;
        response.writeHead(200, { "content-length": 10_000 });
        let count = 0;
        const timer = setInterval(() => response.write("x", () => ++count === 10 && resolve()), 5);
        response.on("close", () => clearInterval(timer));
        return true;
      };
    });
    return { ...bucket, storage, dripping };
  }

  test.each([
    ["a list", "list-type", /\/m cannot be read: its list did not come within 60 s/],
    ["a description", "config.pbtxt", /\/m cannot be read: config\.pbtxt did not come within 60 s/],
  ])("%s is given up after a minute", async (_, part, message) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { at, storage, dripping } = await openDripping(part);
    const failed = expect(storage.indexOf(at("m"))).rejects.toThrow(message);
    await dripping;
    vi.advanceTimersByTime(60_000);
    await failed;
  });
});

test("a public bucket needs no key", async () => {
  const { s3, at, fetch } = await openBucket({ "m.bin": "public" });
  s3.isPublic = true;
  setEnv({ AWS_NO_SIGN_REQUEST: "true" });
  expect(readFileSync((await fetch(at("m.bin"))).path, "utf8")).toBe("public");
});

test("the cache removes what was used least recently and is not in use", async () => {
  const { s3, at } = await openBucket({ a: "a".repeat(400), b: "b".repeat(400), c: "c".repeat(400) });
  const { fetch, folder } = openStorage({ maxBytes: 1000 });
  const [a, b] = [await fetch(at("a")), await fetch(at("b"))];
  await expect(fetch(at("c"))).rejects.toThrow(
    /it has 400 bytes, and served models use 800 bytes of the cache's 1000 bytes\. Raise --model-cache-size/,
  );
  a.release();
  await fetch(at("c"));
  expect(existsSync(a.path)).toBe(false);
  expect(existsSync(b.path)).toBe(true);
  expect(readdirSync(folder).filter((name) => name.endsWith(".json"))).toHaveLength(2);
  s3.objects.set("d", "d".repeat(1001));
  await expect(fetch(at("d"))).rejects.toThrow(/it has 1001 bytes, and the cache may have 1000 bytes/);
});

describe("of what broken off downloads have left", () => {
  const STAGES = { running: process.ppid, ended: 2 ** 22 + 1, nobody: undefined };

  /** Folders as servers leave them, by the process that has claimed each. */
  function leaveStages(folder: string): string {
    const partial = join(folder, ".partial");
    for (const [name, pid] of Object.entries(STAGES)) {
      mkdirSync(join(partial, name, "files"), { recursive: true });
      const owner = JSON.stringify({ host: hostname(), pid });
      if (pid !== undefined) writeFileSync(join(partial, name, "owner"), owner);
    }
    mkdirSync(join(partial, "elsewhere"));
    writeFileSync(join(partial, "elsewhere", "owner"), JSON.stringify({ host: "another", pid: 1 }));
    return partial;
  }

  test("a day later all is removed but for a running process's", async () => {
    const { at, fetch, folder } = await openBucket({ "m.bin": "one", "n.bin": "two" });
    const partial = leaveStages(folder);
    await fetch(at("m.bin"));
    expect(readdirSync(partial).sort()).toEqual(["elsewhere", "ended", "nobody", "running"]);
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 25 * 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    await fetch(at("n.bin"));
    expect(readdirSync(partial)).toEqual(["running"]);
  });

  test("nothing stays of files that have been replaced since", async () => {
    const { s3, at, fetch, folder } = await openBucket({ "m.bin": "0".repeat(1000) });
    let replaced = 0;
    s3.fault = ({ url = "", headers }, response) => {
      if (url.includes("list-type") || headers.range !== undefined || replaced === 3) return false;
      s3.objects.set("m.bin", `${++replaced}`.repeat(1000));
      response.writeHead(200, { "content-length": 1000 });
      response.write("x".repeat(900), () => setTimeout(() => response.destroy(), 20));
      return true;
    };
    for (let failed = 0; failed < 3; failed++)
      await expect(fetch(at("m.bin"))).rejects.toThrow(/has changed meanwhile/);
    expect(readdirSync(join(folder, ".partial"))).toHaveLength(1);
    await fetch(at("m.bin"));
    expect(readdirSync(join(folder, ".partial"))).toEqual([]);
  });
});

test("a checksum in the address is checked", async () => {
  const { at, fetch } = await openBucket({ "m.bin": "good" });
  const digest = createHash("sha256").update("good").digest("hex");
  expect(readFileSync((await fetch(`${at("m.bin")}#sha256=${digest}`)).path, "utf8")).toBe("good");
  await expect(fetch(`${at("m.bin")}#sha256=${"0".repeat(64)}`)).rejects.toThrow(
    /differs from its checksum \(sha256\)/,
  );
});

test("a checksum in the address of a folder is refused", async () => {
  const { at, storage, fetch } = await openBucket({ "models/m/a.onnx": "good" });
  const address = `${at("models/m")}#sha256=${"0".repeat(64)}`;
  const message =
    /m cannot be read: #sha256= is the checksum of one file, and this is a folder\. Give the address of a/;
  await expect(fetch(address)).rejects.toThrow(message);
  await storage.indexOf(at("models"));
  await expect(fetch(address)).rejects.toMatchObject({ code: "invalid_argument" });
});
