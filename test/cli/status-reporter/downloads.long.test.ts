import { readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { tempFolder } from "../../helpers/temp-folder.ts";
import { useS3 } from "../../storage/set-env.ts";
import { startS3 } from "../../storage/start-s3.ts";
import { startAtTerminal } from "../start-kserving.ts";

const HALF = readFileSync("test/fixtures/models/half-plus-two.onnx");

test.skipIf(process.platform !== "linux")(
  "a terminal (made by Linux's script) shows how far a download is",
  async () => {
    const s3 = await startS3("slow", { "half.onnx": HALF });
    useS3(s3.endpoint);
    let finish = () => {};
    s3.fault = (request, response) => {
      if (request.method !== "GET" || request.url?.includes("list-type")) return false;
      response.writeHead(200, { "content-length": HALF.length, etag: request.headers["if-match"] });
      let sent = 0;
      const drip = setInterval(() => sent < HALF.length - 1 && response.write(HALF.subarray(sent, ++sent)), 10);
      finish = () => {
        clearInterval(drip);
        response.end(HALF.subarray(sent));
      };
      onTestFinished(() => clearInterval(drip));
      return true;
    };
    const cache = ["--model-cache", tempFolder()];
    const program = startAtTerminal(["s3://slow/half.onnx", "--port", "0", "--http-port", "0", ...cache]);
    const [shown] = await program.output(/█+░+ +\d+ % {2}\S+ MB of \S+ MB {2}s3:\/\/slow\/half\.onnx/);
    expect(shown).toBeDefined();
    finish();
    const [rest] = await program.output(/download ended[\s\S]*Page {2}http/);
    expect(rest).not.toContain('{"level"');
  },
);
