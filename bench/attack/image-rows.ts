import { type AttackRow, type ServerKind, type Target, tally } from "./attack-row.ts";
import { call, METHODS } from "./grpc-attack.ts";
import { HOSTILE_IMAGES } from "./hostile-images.ts";
import { post, postAndLeave } from "./http-attack.ts";
import { bytesField, varint, varintField } from "./protobuf.ts";

type Send = (target: Target) => Promise<string>;

const V2_PATH = "/v2/models/default/infer";
const IMAGE_SERVERS: readonly ServerKind[] = ["inline-images", "thread-images", "hook-images"];

/** Ways by which an image comes. */
const WIRES: Readonly<Record<string, (image: Buffer) => Send>> = {
  "v2-json": (image) => {
    const data = [image.toString("base64")];
    return sendJson(V2_PATH, { inputs: [{ name: "x", shape: [1], datatype: "BYTES", data }] });
  },
  "tf-rest": (image) =>
    sendJson("/v1/models/default:predict", { instances: [{ x: { b64: image.toString("base64") } }] }),
  "predict-json": (image) =>
    sendJson("/predict/default", { inputs: { x: { dtype: 7, data: [image.toString("base64")] } } }),
  form: (image) => {
    const head = '--b\r\nContent-Disposition: form-data; name="bytes_x"; filename="f"\r\n\r\n';
    const body = Buffer.concat([Buffer.from(head), image, Buffer.from("\r\n--b--\r\n")]);
    return (target) =>
      post(target, { path: "/predict/default", body, headers: { "content-type": "multipart/form-data; boundary=b" } });
  },
  "tf-grpc": (image) => {
    const shape = bytesField(2, bytesField(2, varintField(1, 1)));
    const input = bytesField(2, bytesField(1, "x"), bytesField(2, varintField(1, 7), shape, bytesField(8, image)));
    const message = Buffer.concat([bytesField(1, bytesField(1, "default")), input]);
    return (target) => call(target, { path: METHODS.predict, message });
  },
  "v2-grpc": (image) => {
    const input = bytesField(5, bytesField(1, "x"), bytesField(2, "BYTES"), bytesField(3, varint(1)));
    const message = Buffer.concat([bytesField(1, "default"), input, bytesField(7, withLength(image))]);
    return (target) => call(target, { path: METHODS.infer, message });
  },
};

/** Images that harm: each in every place that decodes, the smallest on every wire. */
export const IMAGE_ROWS: readonly AttackRow[] = [
  ...IMAGE_SERVERS.flatMap((server) => Object.keys(HOSTILE_IMAGES).map((image) => imageRow({ server, image }))),
  ...Object.entries(WIRES).flatMap(([wire, over]) => [
    imageRow({ server: "inline-images", image: "gif", wire, over }),
    imageRow({ server: "hook-images", image: "svg", wire, over }),
  ]),
  ...IMAGE_SERVERS.map(leftRow),
  manyInOneRow("inline-images"),
  manyInOneRow("hook-images"),
];

interface ImageCase {
  readonly server: ServerKind;
  readonly image: string;
  readonly wire?: string;
  readonly over?: (image: Buffer) => Send;
}

function imageRow({ server, image, wire = "", over = overBinary }: ImageCase): AttackRow {
  const { copies, make } = HOSTILE_IMAGES[image] as (typeof HOSTILE_IMAGES)[string];
  const prepare = async () => {
    const send = over(await make());
    return async (target: Target) => ({
      got: tally(await Promise.all(Array.from({ length: copies }, () => send(target)))),
    });
  };
  return {
    name: ["image", server.replace("-images", ""), image, ...(wire === "" ? [] : [wire])].join("-"),
    server,
    prepare,
  };
}

/** Twenty large images whose clients go away at once. */
function leftRow(server: ServerKind): AttackRow {
  const prepare = async () => {
    const message = binaryMessage([await (HOSTILE_IMAGES.png as (typeof HOSTILE_IMAGES)[string]).make()]);
    return async (target: Target) => ({
      got: tally(await Promise.all(Array.from({ length: 20 }, () => postAndLeave(target, message)))),
    });
  };
  return { name: `image-${server.replace("-images", "")}-left`, server, prepare };
}

/** A million elements that are no image, and sixty-four that claim to be large ones, in one request. */
function manyInOneRow(server: ServerKind): AttackRow {
  const prepare = async () => {
    const gif = await (HOSTILE_IMAGES.gif as (typeof HOSTILE_IMAGES)[string]).make();
    const messages = [binaryMessage(Array(1_000_000).fill(Buffer.from("x"))), binaryMessage(Array(64).fill(gif))];
    return async (target: Target) => ({
      got: tally(await Promise.all(messages.map((message) => post(target, message)))),
    });
  };
  return { name: `image-${server.replace("-images", "")}-many`, server, prepare };
}

function overBinary(image: Buffer): Send {
  const message = binaryMessage([image]);
  return (target) => post(target, message);
}

function binaryMessage(images: readonly Buffer[]) {
  const data = Buffer.concat(images.map(withLength));
  const input = { name: "x", datatype: "BYTES", shape: [images.length], parameters: { binary_data_size: data.length } };
  const head = Buffer.from(JSON.stringify({ inputs: [input] }));
  const headers = { "inference-header-content-length": String(head.length) };
  return { path: V2_PATH, body: Buffer.concat([head, data]), headers };
}

function withLength(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function sendJson(path: string, json: object): Send {
  const body = Buffer.from(JSON.stringify(json));
  return (target) => post(target, { path, body });
}
