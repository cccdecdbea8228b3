import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Conversation } from "../../../src/drivers/python/conversation.ts";
import { MAX_FRAME_BYTES, PREFIX, PREFIX_BYTES, SIZE_BYTES, writeFrame } from "../../../src/drivers/python/frames.ts";
import { tempFolder } from "../../helpers/temp-folder.ts";

/** A conversation with a process that this test plays. */
async function converse(onCall?: () => Promise<object>) {
  const path = `${tempFolder({})}/socket`;
  const server = createServer().listen(path);
  const [accepted, own] = [once(server, "connection"), connect(path)];
  const [peer] = (await accepted) as [Socket];
  onTestFinished(() => {
    own.destroy();
    peer.destroy();
    server.close();
  });
  const conversation = new Conversation(own, { slots: [], own: 2 }, { onProgress: () => {}, onCall });
  return { conversation, peer };
}

function answer(id: number, header: string, body: Uint8Array = Buffer.alloc(0)): Buffer {
  return writeFrame({ id, slot: -1, header, body: [body] });
}

/** The beginning of a frame that claims a body. */
function claim(id: number, bodyBytes: number): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32LE(id, PREFIX.id);
  prefix.writeUIntLE(bodyBytes, PREFIX.bodySize, SIZE_BYTES);
  return prefix;
}

const tensors = (...entries: unknown[]) => JSON.stringify({ tensors: entries });

test.each([
  ["no JSON", "{"],
  ["null", "null"],
  ["a number", "3"],
  ["tensors that are no list", '{"tensors": 3}'],
  ["an entry that is no list", tensors(null)],
  ["an entry without a size", tensors(["y", "float32", [1]])],
  ["more bytes than the body has", tensors(["y", "uint8", [1e15], 1e15, -1])],
  ["a size below 0", tensors(["y", "uint8", [1], -8, -1])],
  ["more bytes of the slot than a frame may have", tensors(["y", "uint8", [1e15], 1e15, 0])],
  ["a slot that there is not", tensors(["y", "uint8", [64], 64, 0])],
  ["a shape that its bytes do not fill", tensors(["y", "float32", [3], 8, -1])],
  ["texts whose lengths are missing", tensors(["y", "bytes", [1e9], 8, -1])],
  ["an error that is none", '{"error": 3}'],
])("an answer with %s fails its request alone", async (_, header) => {
  const { conversation, peer } = await converse();
  const failed = conversation.ask({ op: "predict" });
  peer.write(answer(0, header, Buffer.alloc(8)));
  await expect(failed).rejects.toMatchObject({ code: "internal" });
  const next = conversation.ask({ op: "predict" });
  peer.write(answer(1, '{"result": 5}'));
  await expect(next).resolves.toMatchObject({ result: 5 });
});

test("a frame that claims more than one may have fails its request, with what to do, and takes no memory", async () => {
  const { conversation, peer } = await converse();
  const failed = conversation.ask({ op: "predict" });
  peer.write(claim(0, 2 * MAX_FRAME_BYTES));
  await expect(failed).rejects.toMatchObject({
    code: "resource_exhausted",
    message: expect.stringMatching(/has 42949\d+ bytes; 2147483648 at most are taken\. Use fewer rows/),
  });
  expect(conversation.pending).toBe(0);
});

test("a question that claims as much is refused", async () => {
  const { peer } = await converse(async () => ({}));
  peer.write(claim(0x80000001, MAX_FRAME_BYTES));
  const [frame] = (await once(peer, "data")) as [Buffer];
  expect(frame.subarray(PREFIX_BYTES).toString()).toContain('"code":"resource_exhausted"');
});
