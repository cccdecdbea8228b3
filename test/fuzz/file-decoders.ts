import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { SignJWT } from "jose";
import { createWebTokenCheck } from "../../src/access/authentication/open-authentication.ts";
import { NamePatterns, readRules } from "../../src/access/rules/access-rules.ts";
import { readModelFile } from "../../src/drivers/onnx/model-file.ts";
import { decompressSnappy, readTable } from "../../src/drivers/tensorflow/portable/checkpoint-table.ts";
import { parseSavedModel } from "../../src/drivers/tensorflow/saved-model/load-saved-model.ts";
import { CompiledFor, checkTflite } from "../../src/drivers/tflite-format/read-tflite.ts";
import { invalidArgument } from "../../src/errors.ts";
import { HttpError } from "../../src/proxy/http-errors.ts";
import { readTarball } from "../../src/storage/archives/tar-archive.ts";
import { ZipArchive } from "../../src/storage/archives/zip-archive.ts";
import { parseS3List } from "../../src/storage/s3/s3-client.ts";
import { parseTextFormat } from "../../src/tensor/codecs/config/parse-text-format.ts";
import { parseYaml } from "../../src/tensor/codecs/config/yaml.ts";
import { eachJsonRow } from "../../src/tensor/codecs/csv-to-json-rows.ts";
import { readNpy, writeNpy } from "../../src/tensor/codecs/npy.ts";
import { createTensor } from "../../src/tensor/tensor.ts";
import { loadTokenizer } from "../../src/text/tokenizer.ts";
import { TEXT_COSTS } from "../platform/limits/text-costs.ts";
import { longName, makeTar, withSums } from "../storage/runtimes/make-tarball.ts";
import { makeZip } from "../storage/runtimes/make-zip.ts";
import type { Decoder } from "./decoder.ts";

const FILES = { "m/1/model.onnx": "weights ".repeat(20), "m/1/labels.txt": "cat\ndog\n", "m/1/empty": "" };
const MAX_BYTES = 4_000_000;
const RULES =
  'open: [health]\nallow:\n  - who: [alice, "token:ci"]\n    kinds: [infer, read]\n    models: ["team-*"]\n';
const CONFIG = `models:\n  - name: &a m\n    path: /m # where\n    labels: {stable: 1}\n    text: |\n      two\n      lines\n  - *a\n`;
const TRITON = `name: "m"\nplatform: "onnxruntime_onnx"\nmax_batch_size: 8\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ -1, 2 ] } ]\ndynamic_batching { }\nparameters: { key: "a" value: { string_value: "b\\n\\x41" } }\n`;

const S3_LIST =
  "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>m/a+%C3%A9&amp;</Key><Size>3</Size><ETag>&quot;e&#34;</ETag></Contents><Contents/><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken></ListBucketResult>";

/**
 * Readers of files and texts that strangers make: archives, models' files, configurations, tokens. That of HDF5 files,
 * each of which takes a thread of its own, is in hdf5-decoder.ts.
 */
export async function fileDecoders(): Promise<readonly Decoder[]> {
  return [...archiveDecoders(), ...modelDecoders(), ...textDecoders(), ...costDecoders(), await tokenDecoder()];
}

function archiveDecoders(): Decoder[] {
  const tar = makeTar([
    { name: "m/", text: "", type: "5" },
    longName("m/1/long"),
    { name: "cut", text: "x" },
    ...Object.entries(FILES).map(([name, text]) => ({ name, text })),
  ]);
  return [
    {
      name: "a tar archive",
      samples: [tar],
      decode: (bytes) => onFile(bytes, (path) => readTar(path, false)),
      repair: withSums,
    },
    { name: "a tar.gz archive", samples: [gzipSync(tar)], decode: (bytes) => onFile(bytes, (path) => readTar(path)) },
    {
      name: "a zip archive",
      samples: [makeZip(FILES), makeZip(FILES, { stored: true })],
      decode: (bytes) => onFile(bytes, readZip),
    },
    {
      name: "an npy file",
      samples: [writeNpy(createTensor("float32", [2, 2], Float32Array.of(1, 2, 3, 4)))],
      decode: readNpy,
    },
  ];
}

async function readTar(path: string, isGzipped = true): Promise<void> {
  let left = MAX_BYTES;
  for await (const entry of readTarball(path, { isGzipped }))
    for await (const { length } of entry.chunks()) left = take(left, length);
}

async function readZip(path: string): Promise<void> {
  const archive = await ZipArchive.open(path);
  try {
    let left = MAX_BYTES;
    for (const entry of archive.entries)
      for await (const { length } of await archive.read(entry)) left = take(left, length);
  } finally {
    await archive.close();
  }
}

/** As unpacking does, which has a limit. */
function take(left: number, bytes: number): number {
  if (bytes > left) throw invalidArgument("too large");
  return left - bytes;
}

function modelDecoders(): Decoder[] {
  const folder = () => mkdtempSync(join(tmpdir(), "kserving-fuzz-"));
  return [
    {
      name: "an ONNX file",
      samples: ["half-plus-two", "default-input", "split-two-outputs"].map((name) => fixture(`models/${name}.onnx`)),
      decode: (bytes) => onFile(bytes, async (path) => readModelFile(path)),
    },
    {
      name: "a TFLite file",
      samples: ["lite_text", "lite_two_inputs"].map((name) => fixture(`tensorflow-formats/${name}/model.tflite`)),
      decode: (bytes) => refusing([RangeError, CompiledFor], () => checkTflite(viewOf(bytes))),
    },
    {
      name: "a checkpoint's index",
      samples: [fixture("tensorflow/half_plus_two/variables/variables.index")],
      decode: (bytes) => refusing([Error], () => readTable(bytes)),
    },
    {
      name: "Snappy data",
      samples: [Buffer.from("\x0c\x08abc\x09\x03\x0a\x03\x00", "latin1")],
      decode: (bytes) => refusing([Error], () => decompressSnappy(bytes)),
    },
    {
      name: "a SavedModel",
      samples: [fixture("tensorflow/half_plus_two/saved_model.pb")],
      decode: (bytes) => {
        const where = folder();
        writeFileSync(join(where, "saved_model.pb"), bytes);
        try {
          parseSavedModel(where);
        } finally {
          rmSync(where, { recursive: true });
        }
      },
    },
    {
      name: "a tokenizer.json",
      samples: ["words", "bert"].map((name) => fixture(`text/${name}/tokenizer.json`)),
      decode: async (bytes) => {
        const where = folder();
        writeFileSync(join(where, "tokenizer.json"), bytes);
        await loadTokenizer(where).finally(() => rmSync(where, { recursive: true }));
      },
    },
  ];
}

function textDecoders(): Decoder[] {
  return [
    text("a CSV table", '1,2.5,"a ""b"""\r\n,-3e2,\n', (all) => [...eachJsonRow(all)]),
    text("a YAML configuration", CONFIG, (all) => parseYaml(all, "config.yaml")),
    text("rules of access", RULES, (all) => readRules(parseYaml(all, "rules.yaml"), "rules.yaml")),
    text("a config.pbtxt", TRITON, (all) => parseTextFormat(all, "config.pbtxt")),
    text("a listing of S3", S3_LIST, parseS3List),
    // The first line is the pattern, the rest is the name that it meets.
    text("a pattern of names", "a*b*c\naxxbxxc", (all) => {
      const [pattern = "", name = ""] = all.split("\n", 2);
      new NamePatterns([pattern]).matches(name);
    }),
  ];
}

function text(name: string, sample: string, read: (text: string) => unknown): Decoder {
  return { name, samples: [Buffer.from(sample)], decode: (bytes) => read(bytes.toString()) };
}

/** Samples for those entries of {@link TEXT_COSTS} whose readers have no decoder of their own. */
const ENTRIES: Readonly<Record<string, string>> = {
  version: "12",
  "request id": "a-1_b:2",
  traceparent: `00-${"4bf92f3577b34da6".repeat(2)}-00f067aa0ba902b7-01`,
  tracestate: "rojo=00f067aa0ba902b7,vendor@tenant=t61rcWkgMzE",
  Accept: "text/html;q=0, application/x-npy, application/json;q=0.5, */*",
  "X-Forwarded-For": "2001:db8::7, [::1]:80, 10.0.0.1:90, ::ffff:1.2.3.4",
  "binary metadata": "AAEC,/w==,/w",
  "configuration of a load":
    '{"name": "m", "platform": "onnxruntime_onnx", "maxBatchSize": "8", "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": [-1, 2]}], "parameters": {"a": {"string_value": "\\u00e9"}}}',
  "exact JSON": '{"a": [1, -2.5e3, NaN, 9007199254740993, "\\ud83d\\ude00"]}',
  base64: "AAEC/w==",
  "error for a client": "GET https://u:p@host/a?token=b&X-Amz-Signature=c failed in /usr/lib/a b.so: Bearer abc",
  "failure of a connection": "14 UNAVAILABLE: No connection established. Last error: Error: connect. Resolution note:",
};

function costDecoders(): Decoder[] {
  return TEXT_COSTS.flatMap(({ name, read }) => {
    const sample = ENTRIES[name];
    return sample === undefined
      ? []
      : [text(name, sample, (all) => refusing([HttpError], () => read(all, Buffer.from(all))))];
  });
}

/** Signed by a key that the check knows, and so read to its end. */
async function tokenDecoder(): Promise<Decoder> {
  const secret = Buffer.alloc(32, 1);
  const check = createWebTokenCheck({ keys: { content: secret } as never, issuer: "i", audience: "a" });
  const claims = new SignJWT({ iss: "i", aud: "a", sub: "s" }).setExpirationTime("100y");
  const token = await claims.setProtectedHeader({ alg: "HS256" }).sign(secret);
  return { name: "a signed token", samples: [Buffer.from(token)], decode: (bytes) => check(bytes.toString("latin1")) };
}

const SCRATCH = join(tmpdir(), `kserving-fuzz-${process.pid}`);

async function onFile(bytes: Uint8Array, read: (path: string) => Promise<unknown>): Promise<void> {
  writeFileSync(SCRATCH, bytes);
  try {
    await read(SCRATCH);
  } finally {
    rmSync(SCRATCH);
  }
}

/** The parser's own errors count as refusals. */
function refusing(own: readonly (new (...args: never[]) => Error)[], read: () => unknown): unknown {
  try {
    return read();
  } catch (reason) {
    if (own.some((kind) => (reason as Error).constructor === kind)) throw invalidArgument(String(reason));
    throw reason;
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function fixture(path: string): Buffer {
  return readFileSync(new URL(`../fixtures/${path}`, import.meta.url));
}
